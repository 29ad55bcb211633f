// SPDX-License-Identifier: GPL-2.0-only
//! A struct of constants, and the same as data: each has its value, unit, meaning and source in one
//! place.

/// A constant as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its field.
    pub name: &'static str,
    /// In its unit.
    pub value: u64,
    /// Unit; empty for a plain number.
    pub unit: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Where it comes from, with its mark.
    pub source: &'static str,
}

/// `struct Name { field: value, "unit", "what", "source"; … }`: all fields are `u64`.
macro_rules! constants {
    (
        $(#[$about:meta])*
        struct $Name:ident {
            $($name:ident: $value:expr, $unit:literal, $what:literal, $source:literal;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $Name {
            $(#[doc = concat!($what, " (", $unit, "). Source: ", $source, ".")] pub $name: u64,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                $Name { $($name: $value,)* }
            }
        }

        impl $Name {
            /// Every constant, in the order of the fields.
            pub fn table(&self) -> Vec<$crate::machine::Constant> {
                vec![$($crate::machine::Constant {
                    name: stringify!($name),
                    value: self.$name,
                    unit: $unit,
                    what: $what,
                    source: $source,
                },)*]
            }

            /// Set one by name; false if there is none of that name.
            pub fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

pub(super) use constants;
