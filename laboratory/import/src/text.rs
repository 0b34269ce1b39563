//! Parts of messages.

/// Most values that a message lists.
pub(crate) const MAX_LISTED: usize = 8;

/// Joins names, the first of many.
pub(crate) fn listed(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut names = names.into_iter();
    let first: Vec<_> = names.by_ref().take(MAX_LISTED).collect();
    let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Returns the flag that selects the rows with a value in a column.
pub(crate) fn condition(column: &str, value: &str) -> String {
    format!("--where {}", quoted(&format!("{column}={value}")))
}

/// Quotes a text so that a shell reads it as one word.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=._-+:,/".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_condition_as_one_word() {
        assert_eq!(condition("version", "0.24.0"), "--where version=0.24.0");
        assert_eq!(condition("device", "NVIDIA H200"), "--where 'device=NVIDIA H200'");
        assert_eq!(condition("a", "b'c"), "--where 'a=b'\\''c'");
    }
}
