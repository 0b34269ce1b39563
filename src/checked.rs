//! Values that are checked when they are deserialized.

/// Implements `Serialize` and `Deserialize` for a type that derives both with `remote = "Self"`, and checks each
/// deserialized value.
macro_rules! checked {
    ($type:ident, $check:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$type>::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let value = <$type>::deserialize(deserializer)?;
                ($check)(&value).map_err(serde::de::Error::custom)?;
                Ok(value)
            }
        }
    };
}

pub(crate) use checked;
