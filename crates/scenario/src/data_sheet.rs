//! GPUs that are given by a data sheet: none of their kernels was measured.

use std::path::{self, Path};

use rooflut::hardware::Gpu;
use rooflut::table::{Class, TableSet, data_sheet, sets};
use rooflut_error::{Error, Kind, either, hint, nearest, not_text, setting};

use crate::scenario::Target;

/// The base of GPUs that take no efficiencies.
const NONE: &str = "none";

/// Returns whether the value of a key is the path of a file and no name, as that of `gpu` or `engine` may be: it ends with
/// `.toml`, or names a folder.
///
/// ```
/// use rooflut_scenario::names_file;
/// assert_eq!(["h100", "l4.toml", "sheets/l4"].map(names_file), [false, true, true]);
/// ```
pub fn names_file(value: &str) -> bool {
    let extension = Path::new(value).extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) || value.contains(path::is_separator)
}

impl Target {
    /// The path of the data sheet that stands in place of a table set.
    pub fn sheet(&self) -> Option<&Path> {
        let gpu = self.gpu.as_deref().filter(|gpu| names_file(gpu));
        gpu.map(Path::new)
    }
}

/// Returns the tables of the GPU of a data sheet, the contents of the file at `path`: with the efficiencies of the
/// built-in set `base`, with roofline bounds where that is `none`, or else with the efficiencies of the set that is the
/// nearest in architecture, or bounds if there is none.
///
/// # Errors
/// A data sheet that is malformed, or has the name of a built-in GPU; a base that is no built-in set.
pub fn tables_of(path: &Path, sheet: &[u8], base: Option<&str>) -> Result<TableSet, Error> {
    let name = path.display().to_string();
    let text = str::from_utf8(sheet).map_err(|_| not_text().in_file(path).about(["gpu"]))?;
    let gpu = data_sheet(&name, text).map_err(|error| Error::new(Kind::Contents, error.to_string()).about(["gpu"]))?;
    if sets::ALL.iter().any(|set| set.gpu().name == gpu.name) {
        let text = format!(
            "{name}: expected a name that no built-in GPU has, found {}; rename the section, as in [my-{}]",
            gpu.name, gpu.name
        );
        return Err(Error::new(Kind::Contents, text).about(["gpu"]));
    }
    check_units(&gpu).map_err(|error| error.in_file(path).about(["gpu"]))?;
    let base = match base {
        None => nearest_in_architecture(&gpu),
        Some(none) if none.eq_ignore_ascii_case(NONE) => None,
        Some(given) => Some(find(given)?),
    };
    Ok(match base {
        Some(base) => base.transferred(name, gpu),
        None => TableSet::bounds(name, gpu),
    })
}

/// Returns the tables of a GPU that was not measured with every base, `none` as the last.
pub(crate) fn bases(gpu: &Gpu) -> impl Iterator<Item = (&'static str, TableSet)> {
    let transferred = sets::ALL.into_iter().map(|base| (base.name(), base.transferred("other", gpu.clone())));
    transferred.chain([(NONE, TableSet::bounds("other", gpu.clone()))])
}

/// Refuses a number of a data sheet that no GPU has: it is in another unit.
fn check_units(gpu: &Gpu) -> Result<(), Error> {
    let ranges = [
        ("bf16_tflops", Some(gpu.bf16_flops_per_s * 1e-12), 1.0..=1e6),
        ("fp8_tflops", gpu.fp8_flops_per_s.map(|peak| peak * 1e-12), 1.0..=1e6),
        ("fp4_tflops", gpu.fp4_flops_per_s.map(|peak| peak * 1e-12), 1.0..=1e6),
        ("mem_bytes", Some(gpu.mem_bytes as f64), 1e9..=1e14),
        ("mem_bw_gb_per_s", Some(gpu.mem_bw_bytes_per_s * 1e-9), 10.0..=1e6),
        ("l2_bytes", Some(gpu.l2_bytes as f64), 1e5..=1e12),
        ("link_gb_per_s", Some(gpu.link_bytes_per_s * 1e-9), 0.1..=1e6),
    ];
    for (name, found, range) in ranges {
        if let Some(found) = found.filter(|found| !range.contains(found)) {
            let (least, most) = range.into_inner();
            let text = format!("{name}: expected {least:e} to {most:e}, found {found}; check the unit");
            return Err(Error::new(Kind::Contents, text));
        }
    }
    Ok(())
}

/// Returns a remark on the tables of a GPU on which no kernel was measured, or `None` for those of a measured one.
pub fn unmeasured(tables: &TableSet, target: &Target) -> Option<String> {
    let gpu = &tables.gpu().name;
    let bounds = "each takes its roofline bound, which no real kernel reaches";
    match (tables.base(), tables.class()) {
        (Some(base), _) => {
            let which = if target.base.is_none() { ", the nearest in architecture" } else { "" };
            let base = base.name();
            Some(format!("no kernel of {gpu} was measured: each takes the efficiency that it has on {base}{which}"))
        }
        (None, Class::Bound) if target.base.is_none() => Some(format!(
            "no kernel of {gpu} was measured, and no table set is of its architecture: {bounds}; a base takes the \
             efficiencies of another GPU"
        )),
        (None, Class::Bound) => Some(format!("no kernel of {gpu} was measured: {bounds}")),
        (None, _) => None,
    }
}

fn find(base: &str) -> Result<&'static TableSet, Error> {
    let mut sets = sets::ALL.into_iter();
    sets.find(|set| set.name().eq_ignore_ascii_case(base)).ok_or_else(|| {
        let names = || sets::ALL.into_iter().map(TableSet::name).chain([NONE]);
        let uses: Vec<&str> = names().collect();
        let text = format!(
            "{}: unknown table set{}; use {}",
            setting("base", format!("{base:?}")),
            hint(&nearest(base, names())),
            either(&uses)
        );
        Error::new(Kind::UnknownName, text).about(["base"])
    })
}

/// Returns the set of the nearest compute capability of the same generation, and of several the one whose peak and
/// bandwidth are the nearest, in logarithms.
fn nearest_in_architecture(gpu: &Gpu) -> Option<&'static TableSet> {
    let own = gpu.compute_capability?;
    let distance = |set: &&TableSet| {
        let other = set.gpu();
        let apart = (other.compute_capability? - own).abs();
        let ratios = [other.bf16_flops_per_s / gpu.bf16_flops_per_s, other.mem_bw_bytes_per_s / gpu.mem_bw_bytes_per_s];
        let rates: f64 = ratios.map(|ratio| ratio.ln() * ratio.ln()).iter().sum();
        let is_alike = other.compute_capability?.trunc().total_cmp(&own.trunc()).is_eq();
        is_alike.then_some((apart, rates))
    };
    let known = sets::ALL.into_iter().filter_map(|set| Some((set, distance(&set)?)));
    let nearest = known.min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    nearest.map(|(set, _)| set)
}
