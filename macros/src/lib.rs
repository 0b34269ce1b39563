//! The macro behind `rooflut::tables!`; use it through rooflut's feature `macros`.
//!
//! The data sheets that a set may name (`bench_data/gpus.toml`) belong to the package rooflut, which
//! depends on this one. Therefore expansion takes two steps: [`tables!`] passes its argument to a
//! `macro_rules` macro that rooflut's build script generates; that macro adds the text of the data sheets
//! and calls [`tables_with_gpus!`], which reads the set.

use proc_macro::TokenStream;
use quote::quote;

mod expand;

/// Compiles a table set of measurements into this crate: an expression of type
/// `&'static rooflut::table::TableSet`.
///
/// The path is relative to the folder of this crate's `Cargo.toml`. The folder contains a `set.toml` (the GPU, by the
/// name of a built-in data sheet or as a `[gpu]` table; the source and method of the measurements; a section per
/// operation) and one CSV per operation, as described in the README of rooflut's `bench_data/`. The path may also name
/// a single file, the output of `tail -n +1 set.toml *.csv` in such a folder.
///
/// ```text
/// static MY_GPU: &rooflut::table::TableSet = rooflut::tables!("measurements/my-gpu");
/// ```
///
/// The set is checked while this crate compiles: a value that is missing, misspelt or faster than the GPU can be is a
/// compile error that names file, line and column. The name of the set must differ from the names of the built-in sets.
///
/// A change of one of the files recompiles the crate. A file that is *added* to the folder takes effect at
/// the next change of another one, or of the code.
///
/// 3,900 rows, as `h100` had, add 2 s of processor time to a build from scratch, most of it for the macro,
/// and 0.1 to 0.3 s to each build of the crate after that.
///
/// The dependency must be called `rooflut` in `Cargo.toml`: the expansion names it.
#[proc_macro]
pub fn tables(input: TokenStream) -> TokenStream {
    match syn::parse2::<expand::Call>(input.into()) {
        Ok(expand::Call { dir }) => quote!(::rooflut::__tables_with_gpus!(#dir)).into(),
        Err(error) => error.into_compile_error().into(),
    }
}

/// The second step of [`tables!`]: the folder, and the text of rooflut's data sheets.
#[doc(hidden)]
#[proc_macro]
pub fn tables_with_gpus(input: TokenStream) -> TokenStream {
    let expression = syn::parse2(input.into()).and_then(|call| {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        expand::expand(&call, manifest_dir.as_ref())
    });
    expression.unwrap_or_else(syn::Error::into_compile_error).into()
}
