//! Parts of messages.

use std::fmt;

/// Values that a message lists.
pub(crate) const LISTED: usize = 8;

/// The first of some names.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>, count: usize) -> String {
    let mut text = names.take(LISTED).collect::<Vec<_>>().join(", ");
    if count > LISTED {
        text.push_str(&format!(" and {} more", count - LISTED));
    }
    text
}

/// A value as a shell takes it for one word.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=._-+:,/".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Rows of which devices there are, and what would import them.
pub(crate) fn write_devices(
    f: &mut fmt::Formatter<'_>,
    gpu: &str,
    devices: &[(String, String)],
    meant: Option<&str>,
) -> fmt::Result {
    let names = devices.iter().map(|(device, _)| device.as_str());
    write!(
        f,
        "device: expected rows of {gpu}, found rows of {}; ",
        listed(names, devices.len())
    )?;
    if let Some(meant) = meant {
        let condition = quoted(&format!("device={meant}"));
        return write!(f, "take those of {gpu} with --where {condition}");
    }
    for (index, (device, way_out)) in devices.iter().take(LISTED).enumerate() {
        let separator = if index == 0 { "" } else { "; " };
        write!(f, "{separator}rows of {device} need {way_out}")?;
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
    fn a_shell_takes_a_quoted_value_for_one_word() {
        assert_eq!(quoted("version=0.24.0"), "version=0.24.0");
        assert_eq!(quoted("device=NVIDIA H200"), "'device=NVIDIA H200'");
        assert_eq!(quoted("a=b'c"), "'a=b'\\''c'");
    }
}
