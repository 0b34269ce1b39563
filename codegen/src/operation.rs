//! The five operations: their columns, shapes and work.

use rooflut_roofline::{
    AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape, Prompts, Reference, Work,
};

use crate::Error;
use crate::kernel::MeasuredKernel;
use crate::measured::OperationKind;
use crate::rows::Row;

/// What codegen has to know of an operation.
pub(crate) trait Operation {
    /// The static part of the kernel, which the perfect-hash map is keyed by.
    type Shape: Copy + Ord + std::fmt::Debug;
    /// Which operation it is.
    const KIND: OperationKind;
    /// The CSV.
    const FILE: &'static str;
    /// The section of `set.toml`, and the field of the set.
    const NAME: &'static str;
    /// The columns of the shape that every file must have.
    const KEY_COLUMNS: &'static [&'static str];
    /// The measured axes: one (a curve) or two (a grid).
    const AXES: &'static [&'static str];
    /// The columns of the shape that a file may have.
    const OPTIONAL_KEY: &'static [&'static str] = &[];
    /// All columns that a file may have beside those it must.
    const OPTIONAL: &'static [&'static str] = &["mfu"];

    /// The shape that a row measures.
    ///
    /// # Errors
    /// A column that cannot be read.
    fn shape(row: &Row<'_>) -> Result<Self::Shape, Error>;
    /// The dtype that the peak belongs to.
    fn dtype(shape: &Self::Shape) -> Dtype;
    /// Compulsory work at a point (`[x, _]` or `[batch, length]`).
    fn work(shape: &Self::Shape, point: [u32; 2]) -> Work;
    /// The reference time that slowdowns are stored against.
    fn reference_s(shape: &Self::Shape, point: [u32; 2], reference: &Reference) -> f64;
    /// The integer for perfect hashing.
    fn key(shape: &Self::Shape) -> u64;
    /// A point of a shape.
    fn kernel(shape: Self::Shape, point: [u32; 2]) -> MeasuredKernel;
}

pub(crate) struct Gemm;

impl Operation for Gemm {
    type Shape = GemmShape;
    const KIND: OperationKind = OperationKind::Gemm;
    const FILE: &'static str = "gemm.csv";
    const NAME: &'static str = "gemm";
    const KEY_COLUMNS: &'static [&'static str] = &["dtype", "k", "n"];
    const AXES: &'static [&'static str] = &["m"];

    fn shape(row: &Row<'_>) -> Result<GemmShape, Error> {
        Ok(GemmShape {
            dtype: row.dtype("dtype")?,
            k: row.count("k")?,
            n: row.count("n")?,
        })
    }

    fn dtype(shape: &GemmShape) -> Dtype {
        shape.dtype
    }

    fn work(shape: &GemmShape, [m, _]: [u32; 2]) -> Work {
        shape.work(f64::from(m))
    }

    fn reference_s(shape: &GemmShape, [m, _]: [u32; 2], reference: &Reference) -> f64 {
        shape.reference_s(f64::from(m), reference)
    }

    fn key(shape: &GemmShape) -> u64 {
        shape.key()
    }

    fn kernel(shape: GemmShape, [m, _]: [u32; 2]) -> MeasuredKernel {
        MeasuredKernel::Gemm { shape, m }
    }
}

fn attention_shape(row: &Row<'_>) -> Result<AttentionShape, Error> {
    let shape = AttentionShape {
        dtype: row.dtype("dtype")?,
        kv_dtype: row.dtype("kv_dtype")?,
        q_heads: row.count("q_heads")?,
        kv_heads: row.count("kv_heads")?,
        head_dim: row.count("head_dim")?,
        tp: if row.text("tp").is_some() {
            row.count("tp")?
        } else {
            1
        },
    };
    let refuse = |column: &'static str, expected: &str, hint: &'static str| {
        let text = row.text(column).unwrap_or_default();
        Err(row.refuse(column, text, expected, hint))
    };
    let AttentionShape {
        q_heads,
        kv_heads,
        tp,
        ..
    } = shape;
    if !q_heads.is_multiple_of(kv_heads) {
        return refuse(
            "kv_heads",
            &format!("a divisor of the {q_heads} q_heads"),
            "every KV head serves equally many query heads: check both counts",
        );
    }
    let global = "heads are counted over all ranks, before tp divides them: check both counts";
    if !q_heads.is_multiple_of(tp) {
        let expected = format!("a divisor of the {q_heads} q_heads");
        return refuse("tp", &expected, global);
    }
    // More ranks than KV heads: each rank has a copy of one.
    if !kv_heads.is_multiple_of(tp) && !tp.is_multiple_of(kv_heads) {
        let expected = format!("a divisor or a multiple of the {kv_heads} kv_heads");
        return refuse("tp", &expected, global);
    }
    Ok(shape)
}

pub(crate) struct Prefill;

impl Operation for Prefill {
    type Shape = AttentionShape;
    const KIND: OperationKind = OperationKind::Prefill;
    const FILE: &'static str = "attention_prefill.csv";
    const NAME: &'static str = "prefill";
    const KEY_COLUMNS: &'static [&'static str] =
        &["dtype", "kv_dtype", "q_heads", "kv_heads", "head_dim"];
    const AXES: &'static [&'static str] = &["batch", "seq_len"];
    const OPTIONAL_KEY: &'static [&'static str] = &["tp"];
    const OPTIONAL: &'static [&'static str] = &["tp", "mfu"];

    fn shape(row: &Row<'_>) -> Result<AttentionShape, Error> {
        attention_shape(row)
    }

    fn dtype(shape: &AttentionShape) -> Dtype {
        shape.dtype
    }

    fn work(shape: &AttentionShape, [batch, seq_len]: [u32; 2]) -> Work {
        shape
            .on_rank()
            .prefill_work(&Prompts::equal(f64::from(batch), f64::from(seq_len)))
    }

    fn reference_s(
        shape: &AttentionShape,
        [batch, seq_len]: [u32; 2],
        reference: &Reference,
    ) -> f64 {
        let (batch, seq_len) = (f64::from(batch), f64::from(seq_len));
        shape
            .on_rank()
            .prefill_reference_s(batch, seq_len, reference)
    }

    fn key(shape: &AttentionShape) -> u64 {
        shape.key()
    }

    fn kernel(shape: AttentionShape, [batch, seq_len]: [u32; 2]) -> MeasuredKernel {
        MeasuredKernel::Prefill {
            shape,
            batch,
            seq_len,
        }
    }
}

pub(crate) struct Decode;

impl Operation for Decode {
    type Shape = AttentionShape;
    const KIND: OperationKind = OperationKind::Decode;
    const FILE: &'static str = "attention_decode.csv";
    const NAME: &'static str = "decode";
    const KEY_COLUMNS: &'static [&'static str] =
        &["dtype", "kv_dtype", "q_heads", "kv_heads", "head_dim", "tp"];
    const AXES: &'static [&'static str] = &["batch", "kv_len"];

    fn shape(row: &Row<'_>) -> Result<AttentionShape, Error> {
        attention_shape(row)
    }

    fn dtype(shape: &AttentionShape) -> Dtype {
        shape.dtype
    }

    fn work(shape: &AttentionShape, [batch, kv_len]: [u32; 2]) -> Work {
        shape
            .on_rank()
            .decode_work(f64::from(batch), f64::from(batch) * f64::from(kv_len))
    }

    fn reference_s(
        shape: &AttentionShape,
        [batch, kv_len]: [u32; 2],
        reference: &Reference,
    ) -> f64 {
        let requests = f64::from(batch);
        shape.on_rank().decode_reference_s(
            requests,
            requests * f64::from(kv_len),
            reference.hot_read,
            reference,
        )
    }

    fn key(shape: &AttentionShape) -> u64 {
        shape.key()
    }

    fn kernel(shape: AttentionShape, [batch, kv_len]: [u32; 2]) -> MeasuredKernel {
        MeasuredKernel::Decode {
            shape,
            batch,
            kv_len,
        }
    }
}

pub(crate) struct AllReduce;

impl Operation for AllReduce {
    type Shape = AllReduceShape;
    const KIND: OperationKind = OperationKind::AllReduce;
    const FILE: &'static str = "allreduce.csv";
    const NAME: &'static str = "allreduce";
    const KEY_COLUMNS: &'static [&'static str] = &["ranks"];
    const AXES: &'static [&'static str] = &["bytes"];
    const OPTIONAL: &'static [&'static str] = &[];

    fn shape(row: &Row<'_>) -> Result<AllReduceShape, Error> {
        match row.count("ranks")? {
            1 => Err(row.refuse(
                "ranks",
                "1",
                "at least 2",
                "one GPU has nothing to reduce: leave the row out",
            )),
            ranks => Ok(AllReduceShape { ranks }),
        }
    }

    fn dtype(_: &AllReduceShape) -> Dtype {
        Dtype::Bf16
    }

    fn work(shape: &AllReduceShape, [bytes, _]: [u32; 2]) -> Work {
        shape.work(f64::from(bytes))
    }

    fn reference_s(shape: &AllReduceShape, [bytes, _]: [u32; 2], reference: &Reference) -> f64 {
        shape.reference_s(f64::from(bytes), reference)
    }

    fn key(shape: &AllReduceShape) -> u64 {
        shape.key()
    }

    fn kernel(shape: AllReduceShape, [bytes, _]: [u32; 2]) -> MeasuredKernel {
        MeasuredKernel::AllReduce { shape, bytes }
    }
}

pub(crate) struct Moe;

impl Operation for Moe {
    type Shape = MoeShape;
    const KIND: OperationKind = OperationKind::Moe;
    const FILE: &'static str = "moe.csv";
    const NAME: &'static str = "moe";
    const KEY_COLUMNS: &'static [&'static str] =
        &["dtype", "experts", "top_k", "hidden", "intermediate", "tp"];
    const AXES: &'static [&'static str] = &["tokens"];

    fn shape(row: &Row<'_>) -> Result<MoeShape, Error> {
        let shape = MoeShape {
            dtype: row.dtype("dtype")?,
            experts: row.count("experts")?,
            top_k: row.count("top_k")?,
            hidden: row.count("hidden")?,
            intermediate: row.count("intermediate")?,
            tp: row.count("tp")?,
        };
        let refuse = |column: &'static str, expected: &str, hint: &'static str| {
            let text = row.text(column).unwrap_or_default();
            Err(row.refuse(column, text, expected, hint))
        };
        if shape.top_k > shape.experts {
            let expected = format!("at most the {} experts", shape.experts);
            return refuse(
                "top_k",
                &expected,
                "check that the two columns are not swapped",
            );
        }
        if !shape.intermediate.is_multiple_of(shape.tp) {
            let expected = format!("a divisor of the intermediate size {}", shape.intermediate);
            return refuse(
                "tp",
                &expected,
                "the size is that of a whole expert, before tp divides it: check both",
            );
        }
        Ok(shape)
    }

    fn dtype(shape: &MoeShape) -> Dtype {
        shape.dtype
    }

    fn work(shape: &MoeShape, [tokens, _]: [u32; 2]) -> Work {
        shape.work(f64::from(tokens))
    }

    fn reference_s(shape: &MoeShape, [tokens, _]: [u32; 2], reference: &Reference) -> f64 {
        shape.reference_s(f64::from(tokens), reference)
    }

    fn key(shape: &MoeShape) -> u64 {
        shape.key()
    }

    fn kernel(shape: MoeShape, [tokens, _]: [u32; 2]) -> MeasuredKernel {
        MeasuredKernel::Moe { shape, tokens }
    }
}
