//! A set and its GPU as Rust expressions.

use rooflut_roofline::{Dtype, Gpu, OperationKind};

use crate::read::{StoredEntry, StoredSet, StoredTable, TableSet};

/// An expression of type `Gpu`; `root` is the path of the library.
pub(super) fn gpu_literal(gpu: &Gpu, root: &str) -> String {
    let Gpu {
        bf16_flops_per_s: bf16,
        fp8_flops_per_s: fp8,
        fp4_flops_per_s: fp4,
        mem_bw_bytes_per_s: bandwidth,
        link_bytes_per_s: link,
        mem_bytes,
        l2_bytes,
        sms,
        tdp_w,
        compute_capability,
        ..
    } = gpu;
    let texts = [&*gpu.name, &*gpu.description];
    format!(
        "{root}::hardware::Gpu::from_generated({texts:?}, ({bf16:?}, {fp8:?}, {fp4:?}), \
         [{bandwidth:?}, {link:?}], [{mem_bytes}, {l2_bytes}], {sms}, [{tdp_w:?}, {compute_capability:?}])"
    )
}

/// A block expression of type `&'static StaticSet` with the shapes of the operations and formats that are `wanted`.
pub(super) fn set_literal(set: &TableSet, root: &str, wanted: impl Fn(OperationKind, Dtype) -> bool) -> String {
    let set = set.stored(wanted);
    let mut tables = Vec::new();
    let (gpu, value) = (gpu_literal(&set.gpu, root), set_value(&set, root, &mut tables));
    let tables = tables.iter().enumerate();
    let tables: String =
        tables.map(|(number, table)| format!("    const TABLE_{number}: StaticTable = {table};\n")).collect();
    format!(
        "{{
    #[allow(unused_imports)]
    use {root}::__private::{{AxisPoint, EntryPlace, Index, StaticSet, StaticTable, TableHead}};
    /// A point that was not measured, as `Debug` writes it.
    #[allow(dead_code, non_upper_case_globals)]
    const NaN: f32 = f32::NAN;
    static GPU: {root}::hardware::Gpu = {gpu};
{tables}    static SET: StaticSet = {value};
    &SET
}}"
    )
}

/// A set of constants `TABLE_0`, `TABLE_1`, ... whose values are `tables`; versions of a set share them.
fn set_value(set: &StoredSet, root: &str, tables: &mut Vec<String>) -> String {
    let StoredSet { name, engine, timing, source, license, date, .. } = set;
    let origin = [engine, timing, source, license, date];
    let (values, points) = (&set.axes.values, &set.axes.points);
    let constants: Vec<_> = set.tables.iter().map(|table| constant(table_literal(table, name, root), tables)).collect();
    let constants = constants.join(", ");
    let versions = set.versions.iter();
    let versions: String =
        versions.map(|(version, set)| format!("({version:?}, {}),", set_value(set, root, tables))).collect();
    format!(
        "StaticSet {{
        name: {name:?},
        gpu: &GPU,
        origin: {root}::table::Origin::from_generated({origin:?}),
        axis_values: &{values:?},
        axis_points: &{points:?},
        tables: &[{constants}],
        versions: &[{versions}],
    }}"
    )
}

/// The name of the constant with this value.
fn constant(value: String, values: &mut Vec<String>) -> String {
    let known = values.iter().position(|known| *known == value);
    let number = known.unwrap_or_else(|| {
        values.push(value);
        values.len() - 1
    });
    format!("TABLE_{number}")
}

fn table_literal(table: &StoredTable, set: &str, root: &str) -> String {
    let StoredTable { operation, timing, floor_us, shapes, keys, entries, latency_us, ln_slowdown } = table;
    let timing = format!("{root}::hardware::{timing:?}");
    let mut index = phf_codegen::Map::new();
    let phf = format!("{root}::__private::phf");
    index.phf_path(&phf);
    for (place, key) in keys.iter().enumerate() {
        index.entry(*key, place.to_string());
    }
    let index = index.build();
    let entries =
        entries.iter().map(|StoredEntry { axes, start }| format!("EntryPlace::from_generated({axes:?}, {start}),"));
    let entries: String = entries.collect();
    format!(
        "StaticTable {{
            head: TableHead {{
                operation: {root}::hardware::OperationKind::{operation:?},
                timing: {timing},
                floor_us: {floor_us:?},
                error_groups: {root}::__private::error_groups(
                    {set:?}, {root}::hardware::OperationKind::{operation:?}
                ),
                index: Index::Hashed({index}),
            }},
            shapes: &{shapes:?},
            entries: &[{entries}],
            latency_us: &{latency_us:?},
            ln_slowdown: &{ln_slowdown:?},
        }}"
    )
}
