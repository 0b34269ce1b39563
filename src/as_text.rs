//! Values with a text form.

/// Implements `Serialize` and `Deserialize` with the feature `serde` through `Display` and `FromStr`.
macro_rules! as_text {
    ($type:ident) => {
        #[cfg(feature = "serde")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                rooflut_roofline::deserialize_name(deserializer)
            }
        }
    };
}

pub(crate) use as_text;
