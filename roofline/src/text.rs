//! Names and sentences, compiled in or read at run time.

#[cfg(feature = "alloc")]
use alloc::{string::String, sync::Arc};
use core::fmt;
use core::ops::Deref;

/// Text that is compiled in or, with the feature `alloc`, reference-counted.
///
/// Cloning copies a pointer. Texts compare by their characters.
///
/// ```
/// use rooflut_roofline::Text;
/// const NAME: Text = Text::from_static("h100");
/// assert_eq!(NAME, "h100");
/// assert!(NAME.starts_with('h'));
/// ```
#[derive(Clone)]
pub struct Text(Kept);

#[derive(Clone)]
enum Kept {
    Static(&'static str),
    #[cfg(feature = "alloc")]
    Shared(Arc<str>),
}

impl Text {
    /// Creates a text that is compiled in.
    pub const fn from_static(text: &'static str) -> Text {
        Text(Kept::Static(text))
    }

    /// Returns the text as a string slice.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Kept::Static(text) => text,
            #[cfg(feature = "alloc")]
            Kept::Shared(text) => text,
        }
    }
}

impl Deref for Text {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Text {
        Text::from_static(text)
    }
}

#[cfg(feature = "alloc")]
impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Kept::Shared(text.into()))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;

    #[test]
    fn owned_and_compiled_texts_with_the_same_characters_are_equal() {
        let owned = Text::from(String::from("h100"));
        assert_eq!(owned, Text::from_static("h100"));
        assert_ne!(owned.clone(), "h200");
        assert_eq!(alloc::format!("{owned:>6}|{owned:?}"), "  h100|\"h100\"");
    }
}
#[cfg(feature = "serde")]
impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

#[cfg(all(feature = "serde", feature = "alloc"))]
impl<'de> serde::Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        String::deserialize(deserializer).map(Text::from)
    }
}
