//! The setters of option structs and builders.

/// Implements methods that take the struct by value and return it with one field changed: the field of the parameter's
/// name, or the one after `=>`.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($field:ident: $type:ty);)*) => {
        $crate::setters! {
            $($(#[$doc])* $name($field: $type) => $field;)*
        }
    };
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => $($field:ident).+;)*) => {
        $(
            $(#[$doc])*
            #[must_use = "the changed value is returned"]
            pub const fn $name(mut self, $value: $type) -> Self {
                self.$($field).+ = $value;
                self
            }
        )*
    };
}
