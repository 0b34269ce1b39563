//! Characters that a terminal shows.

/// Whether a terminal shows a character and does nothing else: no control character, and none that changes the direction
/// of the text behind it, so that a name can look like another.
///
/// ```
/// use rooflut_error::is_printable;
/// assert!("Llama-3.1 é 模型".chars().all(is_printable));
/// assert!(!['\u{1b}', '\n', '\u{9b}', '\u{202e}'].into_iter().any(is_printable));
/// ```
pub fn is_printable(c: char) -> bool {
    !matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        && !c.is_control()
}

/// Escapes the characters of a message that are not [printable](is_printable): it stays on one line.
pub fn printable(message: String) -> String {
    if message.chars().all(is_printable) {
        return message;
    }
    let mut escaped = String::new();
    for c in message.chars() {
        if is_printable(c) { escaped.push(c) } else { escaped.extend(c.escape_default()) }
    }
    escaped
}
