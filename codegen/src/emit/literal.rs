//! Shapes, GPUs and numbers as Rust expressions.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use rooflut_roofline::{AllReduceShape, AttentionShape, Dtype, GemmShape, Gpu, MoeShape};

/// A kernel shape that can be written as a struct literal.
pub(super) trait ShapeLiteral {
    /// The literal; `root` is the path of rooflut.
    fn literal(&self, root: &TokenStream) -> TokenStream;
}

impl ShapeLiteral for GemmShape {
    fn literal(&self, root: &TokenStream) -> TokenStream {
        let GemmShape { k, n, .. } = *self;
        let dtype = dtype_literal(self.dtype, root);
        quote!(#root::hardware::GemmShape { dtype: #dtype, k: #k, n: #n })
    }
}

impl ShapeLiteral for AttentionShape {
    fn literal(&self, root: &TokenStream) -> TokenStream {
        let AttentionShape {
            q_heads,
            kv_heads,
            head_dim,
            tp,
            ..
        } = *self;
        let dtype = dtype_literal(self.dtype, root);
        let kv_dtype = dtype_literal(self.kv_dtype, root);
        quote!(#root::hardware::AttentionShape {
            dtype: #dtype, kv_dtype: #kv_dtype,
            q_heads: #q_heads, kv_heads: #kv_heads, head_dim: #head_dim, tp: #tp,
        })
    }
}

impl ShapeLiteral for AllReduceShape {
    fn literal(&self, root: &TokenStream) -> TokenStream {
        let ranks = self.ranks;
        quote!(#root::hardware::AllReduceShape { ranks: #ranks })
    }
}

impl ShapeLiteral for MoeShape {
    fn literal(&self, root: &TokenStream) -> TokenStream {
        let MoeShape {
            experts,
            top_k,
            hidden,
            intermediate,
            tp,
            ..
        } = *self;
        let dtype = dtype_literal(self.dtype, root);
        quote!(#root::hardware::MoeShape {
            dtype: #dtype, experts: #experts, top_k: #top_k,
            hidden: #hidden, intermediate: #intermediate, tp: #tp,
        })
    }
}

fn dtype_literal(dtype: Dtype, root: &TokenStream) -> TokenStream {
    let variant = format_ident!("{dtype:?}");
    quote!(#root::hardware::Dtype::#variant)
}

pub(super) fn gpu_literal(gpu: &Gpu, root: &TokenStream) -> TokenStream {
    let Gpu {
        name,
        description,
        mem_bytes,
        l2_bytes,
        sms,
        ..
    } = *gpu;
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
        #root::hardware::Gpu {
            name: #name,
            description: #description,
            bf16_flops_per_s: #bf16,
            fp8_flops_per_s: #fp8,
            fp4_flops_per_s: #fp4,
            mem_bytes: #mem_bytes,
            mem_bw_bytes_per_s: #bandwidth,
            l2_bytes: #l2_bytes,
            sms: #sms,
            link_bytes_per_s: #link,
        }
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
