//! Settings that cannot be used.

use core::fmt;

/// Why a setting, or a dimension of a model, is refused: what was expected, what was found, and what to do.
///
/// ```
/// use rooflut_roofline::{Invalid, Subject};
///
/// let text = "expected at least `max_num_seqs` ({}), found {}; raise it, or lower `max_num_seqs`";
/// let invalid = Invalid::new("max_num_batched_tokens", text, &[128_u32.into(), 64_u32.into()]);
/// assert_eq!(invalid.setting(), "max_num_batched_tokens");
/// assert_eq!(
///     invalid.to_string(),
///     "max_num_batched_tokens: expected at least max_num_seqs (128), found 64; raise it, or lower max_num_seqs"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Invalid {
    subject: Subject,
    setting: &'static str,
    /// `{}` stands for the next of the values; settings are in backquotes.
    text: &'static str,
    values: [MessagePart; 3],
}

/// The owner of an invalid setting, where its name alone does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// The server, the load, or whatever the setting names.
    Itself,
    /// The dimensions of a model.
    Model,
    /// The constants of an engine.
    Engine,
    /// The network between nodes.
    Network,
    /// The data sheet of a GPU.
    Gpu,
}

/// A part of the message of an [`Invalid`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum MessagePart {
    /// Words.
    Text(&'static str),
    /// The name of a setting, which each reader knows by another name.
    Setting(&'static str),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
}

impl Invalid {
    /// Creates the error of `setting`. In `text`, `{}` stands for the next of at most three `values`, and names of
    /// settings are in backquotes.
    #[cold]
    #[inline(never)] // Refusals are rare, and many.
    pub const fn new(setting: &'static str, text: &'static str, values: &[MessagePart]) -> Invalid {
        const NONE: MessagePart = MessagePart::Text("");
        debug_assert!(places(text) == values.len(), "a value for each place of the text");
        let values = match *values {
            [] => [NONE, NONE, NONE],
            [first] => [first, NONE, NONE],
            [first, second] => [first, second, NONE],
            [first, second, third, ..] => [first, second, third],
        };
        Invalid { subject: Subject::Itself, setting, text, values }
    }

    /// A count that is zero.
    pub const fn zero(setting: &'static str) -> Invalid {
        Invalid::new(setting, "expected at least 1, found 0", &[])
    }

    /// Says what the setting belongs to.
    #[must_use]
    pub const fn of(self, subject: Subject) -> Invalid {
        Invalid { subject, ..self }
    }

    /// Returns the error with other names of its setting and of the settings among its values.
    #[must_use]
    pub fn renamed(self, name: impl Fn(&'static str) -> &'static str) -> Invalid {
        let values = self.values.map(|value| match value {
            MessagePart::Setting(setting) => MessagePart::Setting(name(setting)),
            value => value,
        });
        Invalid { setting: name(self.setting), values, ..self }
    }

    /// Returns the name of the setting.
    pub const fn setting(&self) -> &'static str {
        self.setting
    }

    /// Returns whether it is a dimension of a model, or its division among ranks.
    pub const fn is_of_model(&self) -> bool {
        matches!(self.subject, Subject::Model)
    }

    /// Passes the parts of the message to `write`, which can write settings as its reader knows them.
    ///
    /// # Errors
    /// The first of `write`.
    pub fn write(&self, write: &mut dyn FnMut(MessagePart) -> fmt::Result) -> fmt::Result {
        write(MessagePart::Text(match self.subject {
            Subject::Itself => "",
            Subject::Model => "model: ",
            Subject::Engine => "engine constant ",
            Subject::Network => "network: ",
            Subject::Gpu => "GPU: ",
        }))?;
        write(MessagePart::Setting(self.setting))?;
        write(MessagePart::Text(": "))?;
        let mut values = self.values.iter();
        for (index, text) in self.text.split('{').enumerate() {
            if index > 0 {
                values.next().map_or(Ok(()), |value| write(*value))?;
            }
            for (index, words) in text.trim_start_matches('}').split('`').enumerate() {
                write(if index % 2 == 0 { MessagePart::Text(words) } else { MessagePart::Setting(words) })?;
            }
        }
        Ok(())
    }
}

/// Returns the number of `{` in a text.
const fn places(text: &str) -> usize {
    let (mut rest, mut count) = (text.as_bytes(), 0);
    while let [first, after @ ..] = rest {
        count += (*first == b'{') as usize;
        rest = after;
    }
    count
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&mut |part| part.fmt(f))
    }
}

impl core::error::Error for Invalid {}

impl fmt::Display for MessagePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessagePart::Text(text) | MessagePart::Setting(text) => f.write_str(text),
            MessagePart::Count(count) => count.fmt(f),
            MessagePart::Number(number) => number.fmt(f),
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for MessagePart {
            fn from(value: $type) -> MessagePart {
                MessagePart::$variant(value.into())
            }
        })*
    };
}
from!(u32 => Count, u64 => Count, f64 => Number, &'static str => Text);

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn values_and_settings_stand_where_the_text_has_them() {
        let text = "expected {} of `tp` ({}), found {}; use `pp`";
        let invalid = Invalid::new("heads", text, &["a multiple".into(), 8_u32.into(), 0.5.into()]);
        let model = invalid.of(Subject::Model);
        assert_eq!(model.to_string(), "model: heads: expected a multiple of tp (8), found 0.5; use pp");
        let mut settings = std::vec::Vec::new();
        let written = invalid.write(&mut |part| {
            settings.extend(matches!(part, MessagePart::Setting(_)).then_some(part));
            Ok(())
        });
        assert_eq!((written, &settings[..]), (Ok(()), &["heads", "tp", "pp"].map(MessagePart::Setting)[..]));
    }

    #[test]
    fn other_names_replace_those_of_settings_and_values() {
        let invalid = Invalid::new("q_heads", "expected a multiple of {}, found 7", &[MessagePart::Setting("tp")]);
        let keys = |name| if name == "q_heads" { "num_attention_heads" } else { "tensor_parallel_size" };
        let renamed = "num_attention_heads: expected a multiple of tensor_parallel_size, found 7";
        assert_eq!(invalid.renamed(keys).to_string(), renamed);
    }
}
