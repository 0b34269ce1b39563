//! Enums with names: `FromStr` reads what `Display` prints.

use core::fmt;

/// A name that is not one of a list.
///
/// ```
/// use rooflut_roofline::Dtype;
/// let error = "int8".parse::<Dtype>().unwrap_err();
/// assert_eq!(error.expected(), ["bf16", "fp8", "fp8_block", "nvfp4", "mxfp4", "mxfp4_mxfp8", "int4"]);
/// assert_eq!(error.to_string(), "expected one of bf16, fp8, fp8_block, nvfp4, mxfp4, mxfp4_mxfp8, int4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownName {
    expected: &'static [&'static str],
}

impl UnknownName {
    /// Creates the error for a name that is not in `expected`.
    #[doc(hidden)]
    pub const fn new(expected: &'static [&'static str]) -> UnknownName {
        UnknownName { expected }
    }

    /// Returns the accepted names.
    pub const fn expected(&self) -> &'static [&'static str] {
        self.expected
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of ")?;
        for (index, name) in self.expected.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownName {}

/// Implements the list of values, their names, `Display` and `FromStr` for an enum without fields, and `Serialize`
/// and `Deserialize` with the feature `serde` of the calling crate.
#[doc(hidden)]
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal,)+ }) => {
        impl $type {
            /// All values, in order.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// Returns the name that `Display` writes and `FromStr` reads.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)+
                }
            }
        }

        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::core::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> ::core::result::Result<$type, $crate::UnknownName> {
                match name {
                    $($name => Ok($type::$variant),)+
                    _ => Err($crate::UnknownName::new(&[$($name),+])),
                }
            }
        }

        #[cfg(feature = "serde")]
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<$type, D::Error> {
                $crate::deserialize_name(deserializer)
            }
        }
    };
}

/// Deserializes a value from its name.
#[cfg(feature = "serde")]
#[doc(hidden)]
pub fn deserialize_name<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: core::str::FromStr<Err: fmt::Display>,
{
    struct Name<T>(core::marker::PhantomData<T>);

    impl<T: core::str::FromStr<Err: fmt::Display>> serde::de::Visitor<'_> for Name<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name")
        }

        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<T, E> {
            name.parse().map_err(|error| E::custom(format_args!("{error}, found {name:?}")))
        }
    }

    deserializer.deserialize_str(Name(core::marker::PhantomData))
}
