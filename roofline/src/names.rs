//! Enums whose values have names: what `Display` prints, `FromStr` reads.

use core::fmt;

/// A name that is not one of a list.
///
/// ```
/// use rooflut_roofline::Dtype;
/// let error = "int8".parse::<Dtype>().unwrap_err();
/// assert_eq!(error.expected(), ["bf16", "fp8", "fp8_block", "nvfp4"]);
/// assert_eq!(error.to_string(), "expected one of bf16, fp8, fp8_block, nvfp4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownName {
    expected: &'static [&'static str],
}

impl UnknownName {
    /// A name that is none of `expected`.
    #[doc(hidden)]
    pub const fn new(expected: &'static [&'static str]) -> UnknownName {
        UnknownName { expected }
    }

    /// The names that are read.
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

/// Gives an enum without fields its list of values, their names, `Display` and `FromStr`, and with the
/// feature `serde` of the crate that calls it `Serialize` and `Deserialize`.
#[doc(hidden)]
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal,)+ }) => {
        impl $type {
            /// All values, in order.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The name that `Display` writes and `FromStr` reads.
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

/// Reads a value by its name.
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
            name.parse()
                .map_err(|error| E::custom(format_args!("{error}, found {name:?}")))
        }
    }

    deserializer.deserialize_str(Name(core::marker::PhantomData))
}
