//! Parts of messages.

use std::fmt;

/// Most values that a message lists.
pub(crate) const MAX_LISTED: usize = 8;

/// Joins names, the first of many.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>, count: usize) -> String {
    let mut text = names.take(MAX_LISTED).collect::<Vec<_>>().join(", ");
    if count > MAX_LISTED {
        text.push_str(&format!(" and {} more", count - MAX_LISTED));
    }
    text
}

/// Quotes a value so that a shell reads it as one word.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=._-+:,/".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Writes the devices that rows name, and the flags that import their rows.
pub(crate) fn write_devices(
    f: &mut fmt::Formatter<'_>,
    gpu: &str,
    devices: &[(String, String)],
    matching: Option<&str>,
) -> fmt::Result {
    let names = devices.iter().map(|(device, _)| device.as_str());
    write!(
        f,
        "device: expected rows of {gpu}, found rows of {}; ",
        listed(names, devices.len())
    )?;
    if let Some(matching) = matching {
        let condition = quoted(&format!("device={matching}"));
        return write!(f, "select those of {gpu} with --where {condition}");
    }
    for (index, (device, fix)) in devices.iter().take(MAX_LISTED).enumerate() {
        let separator = if index == 0 { "" } else { "; " };
        write!(f, "{separator}rows of {device} need {fix}")?;
        if devices.len() > 1 {
            let condition = quoted(&format!("device={device}"));
            write!(f, " and --where {condition}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_quoted_value_as_one_word() {
        assert_eq!(quoted("version=0.24.0"), "version=0.24.0");
        assert_eq!(quoted("device=NVIDIA H200"), "'device=NVIDIA H200'");
        assert_eq!(quoted("a=b'c"), "'a=b'\\''c'");
    }
}
