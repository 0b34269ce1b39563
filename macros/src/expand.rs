//! From the arguments of a call to an expression.

use std::path::Path;

use proc_macro2::TokenStream;
use quote::quote;
use rooflut_codegen::{Error, ErrorKind};
use syn::parse::{Parse, ParseStream};
use syn::{LitStr, Token};

/// The argument of `tables!`.
pub(crate) struct Call {
    /// The folder of the set, or the single file.
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
        let refuse = |found: String| {
            let message = format!(
                "expected the path of a table set as one string, found {found}; write \
                 rooflut::tables!(\"measurements/my-gpu\")"
            );
            syn::Error::new(input.span(), message)
        };
        let dir = match input.parse() {
            Ok(dir) => dir,
            Err(_) if input.is_empty() => return Err(refuse("nothing".to_owned())),
            Err(_) => return Err(refuse(input.to_string())),
        };
        input.parse::<Option<Token![,]>>()?;
        if input.is_empty() { Ok(Call { dir }) } else { Err(refuse(format!("{input} after it"))) }
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

/// Expands to the set as an expression.
///
/// # Errors
/// The errors of codegen, at the span of the literal.
pub(crate) fn expand(call: &CallWithGpus, manifest_dir: &Path) -> syn::Result<TokenStream> {
    let path = call.dir.value();
    let dir = manifest_dir.join(&path);
    let set = rooflut_codegen::generate_expression(&dir, &call.gpus.value())
        .map_err(|error| syn::Error::new(call.dir.span(), message(error, &path)))?;
    let set: TokenStream = set.parse().map_err(|error| syn::Error::new(call.dir.span(), error))?;
    // Cargo does not track files that a procedural macro reads, but it tracks those of `include_bytes!`.
    let includes = rooflut_codegen::set_files(&dir).into_iter().map(|file| match file.strip_prefix(manifest_dir) {
        Ok(file) => {
            let file = format!("/{}", file.display());
            quote!(::core::include_bytes!(::core::concat!(
                ::core::env!("CARGO_MANIFEST_DIR"),
                #file
            )))
        }
        Err(_) => {
            let file = file.display().to_string();
            quote!(::core::include_bytes!(#file))
        }
    });
    Ok(quote! {{
        #(const _: &[u8] = #includes;)*
        #set
    }})
}

/// The message, with the path as the call has it.
fn message(error: Error, path: &str) -> String {
    match error.kind() {
        ErrorKind::NotFound => {
            let start = "paths start at the folder of this crate's Cargo.toml";
            format!("{}; {start}", error.in_file(path))
        }
        ErrorKind::NoSetToml => error.in_file(path).to_string(),
        _ => error.to_string(),
    }
}
