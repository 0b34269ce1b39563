//! GPUs and numbers as Rust expressions.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use rooflut_roofline::Gpu;

pub(super) fn gpu_literal(gpu: &Gpu, root: &TokenStream) -> TokenStream {
    let (name, description) = (&*gpu.name, &*gpu.description);
    let (mem_bytes, l2_bytes, sms) = (gpu.mem_bytes, gpu.l2_bytes, gpu.sms);
    let (bf16, bandwidth, link) = (
        gpu.bf16_flops_per_s,
        gpu.mem_bw_bytes_per_s,
        gpu.link_bytes_per_s,
    );
    let option = |value: Option<f64>| match value {
        Some(value) => quote!(Some(#value)),
        None => quote!(None),
    };
    let (fp8, fp4) = (option(gpu.fp8_flops_per_s), option(gpu.fp4_flops_per_s));
    quote! {
        #root::hardware::Gpu::from_generated(
            [#name, #description],
            (#bf16, #fp8, #fp4),
            [#bandwidth, #link],
            [#mem_bytes, #l2_bytes],
            #sms,
        )
    }
}

/// A number without its type; NaN is the constant `HOLE`.
pub(super) fn number(value: f32) -> TokenStream {
    if value.is_nan() {
        quote!(HOLE)
    } else if value.is_sign_negative() {
        let magnitude = Literal::f32_unsuffixed(-value);
        quote!(-#magnitude)
    } else {
        let literal = Literal::f32_unsuffixed(value);
        quote!(#literal)
    }
}
