//! From a path to an expression: what the procedural macros do, in types that tests can use.

use std::path::Path;

use proc_macro2::TokenStream;
use quote::quote;
use rooflut_codegen::Error;
use syn::parse::{Parse, ParseStream};
use syn::{LitStr, Token};

/// The argument of `tables!`.
pub(crate) struct Call {
    /// The folder of the set, or the file that has all of it.
    pub(crate) dir: LitStr,
}

/// The arguments of `tables_with_gpus!`.
pub(crate) struct CallWithGpus {
    dir: LitStr,
    /// The text of `gpus.toml`.
    gpus: LitStr,
}

impl Parse for Call {
    fn parse(input: ParseStream<'_>) -> syn::Result<Call> {
        let expected = "expected the path of a table set as one string, \
                        rooflut::tables!(\"measurements/my-gpu\")";
        let refuse =
            |found: String| syn::Error::new(input.span(), format!("{expected}, found {found}"));
        let dir = match input.parse() {
            Ok(dir) => dir,
            Err(_) if input.is_empty() => return Err(refuse("nothing".to_owned())),
            Err(_) => return Err(refuse(input.to_string())),
        };
        input.parse::<Option<Token![,]>>()?;
        if input.is_empty() {
            Ok(Call { dir })
        } else {
            Err(refuse(format!("{input} behind it")))
        }
    }
}

impl Parse for CallWithGpus {
    fn parse(input: ParseStream<'_>) -> syn::Result<CallWithGpus> {
        let dir = input.parse()?;
        input.parse::<Token![,]>()?;
        let gpus = input.parse()?;
        Ok(CallWithGpus { dir, gpus })
    }
}

/// The set as an expression.
///
/// # Errors
/// What codegen refuses, at the literal.
pub(crate) fn expand(call: &CallWithGpus, manifest_dir: &Path) -> syn::Result<TokenStream> {
    let path = call.dir.value();
    let dir = manifest_dir.join(&path);
    let set = rooflut_codegen::generate_expression(&dir, &call.gpus.value())
        .map_err(|error| syn::Error::new(call.dir.span(), message(error, &path)))?;
    // Cargo does not know that a procedural macro reads files; that `include_bytes!` does, it knows.
    let includes = files(&dir, &path).into_iter().map(|file| {
        if Path::new(&path).is_absolute() {
            quote!(::core::include_bytes!(#file))
        } else {
            let file = format!("/{file}");
            quote!(::core::include_bytes!(::core::concat!(
                ::core::env!("CARGO_MANIFEST_DIR"),
                #file
            )))
        }
    });
    Ok(quote! {{
        #(const _: &[u8] = #includes;)*
        #set
    }})
}

/// The files of the set in `dir`, as `path` in the call leads to them.
fn files(dir: &Path, path: &str) -> Vec<String> {
    if dir.is_file() {
        return vec![path.to_owned()];
    }
    let files = rooflut_codegen::FILES.iter();
    files
        .filter(|file| dir.join(file).exists())
        .map(|file| format!("{path}/{file}"))
        .collect()
}

/// The message for the user, who knows the set by the path in the call.
fn message(error: Error, path: &str) -> String {
    let start = "paths start at the folder of this crate's Cargo.toml";
    match error {
        Error::NotFound { .. } => {
            format!("{}; {start}", Error::NotFound { path: path.into() })
        }
        Error::NoSetToml { .. } => Error::NoSetToml { path: path.into() }.to_string(),
        error => error.to_string(),
    }
}
