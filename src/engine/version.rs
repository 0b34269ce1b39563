//! Selects the stack for a version that has none of its own.

use super::{EngineStack, stacks};

/// Returns the stack for an engine that may have none of its own: the newest of the same product that is not newer.
///
/// Patches of one release count as equal. A name that ends with a date, such as that of a nightly build, is compared
/// with the dates of the releases. `None` for other products, for versions before all stacks, and for names without
/// version or date.
///
/// ```
/// use rooflut::engine::closest;
/// let name = |asked| closest(asked).map(|stack| stack.name);
/// assert_eq!(name("vllm-0.16.0"), Some("vllm-0.15.1"));
/// assert_eq!(name("vllm-nightly-2026-04-22"), Some("vllm-0.18.0"));
/// assert_eq!(name("vllm-0.6.3"), None);
/// ```
pub fn closest(name: &str) -> Option<&'static EngineStack> {
    let (product, version) = name.split_once(|c: char| !c.is_ascii_alphanumeric())?;
    let of_product = stacks::ALL.into_iter().filter_map(|stack| {
        let (known, version) = stack.name.split_once('-')?;
        let release = release(version)?;
        known
            .eq_ignore_ascii_case(product)
            .then_some((release, stack))
    });
    let (_, stack) = match date(name) {
        Some(date) => of_product
            .filter(|(_, stack)| stack.released.is_some_and(|released| released <= date))
            .max_by_key(|(release, _)| *release)?,
        None => {
            let asked = release(version)?;
            of_product
                .filter(|(known, _)| *known <= asked)
                .max_by_key(|(release, _)| *release)?
        }
    };
    Some(stack)
}

/// Parses major and minor, as in `0.15.1`, `=0.15` and `v0.15.0rc1`.
fn release(version: &str) -> Option<[u32; 2]> {
    let digits = version.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let digits = digits.strip_prefix(['v', 'V']).unwrap_or(digits);
    let (major, rest) = digits.split_once('.')?;
    let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some([major.parse().ok()?, minor.parse().ok()?])
}

/// Returns the date, YYYY-MM-DD, at the end of a name.
fn date(name: &str) -> Option<&str> {
    let date = name.get(name.len().checked_sub(10)?..)?;
    let fits = |(byte, like): (u8, u8)| match like {
        b'-' => byte == like,
        _ => byte.is_ascii_digit(),
    };
    date.bytes().zip(*b"YYYY-MM-DD").all(fits).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::closest;

    fn chosen(name: &str) -> Option<&'static str> {
        closest(name).map(|stack| stack.name)
    }

    #[test]
    fn other_versions_take_the_newest_stack_that_is_not_newer() {
        for (stack, names) in [
            (
                "vllm-0.11.0",
                ["vllm==0.11.2", "vLLM-0.11.1rc1", "vllm-0.11"],
            ),
            (
                "vllm-0.12.0",
                ["vllm-0.14.2rc1", "vllm-v0.14", "vllm-0.12.0"],
            ),
            (
                "vllm-0.15.1",
                ["vllm-0.15.0", "vLLM 0.16.0", "vllm-0.15.1+cu130"],
            ),
            ("vllm-0.33.0", ["vllm-0.33.9", "vllm-0.40", "vllm-1.0"]),
        ] {
            assert_eq!(names.map(chosen), [Some(stack); 3]);
        }
    }

    #[test]
    fn nightly_builds_take_the_newest_stack_released_at_their_date() {
        assert_eq!(chosen("vllm-nightly-2026-03-19"), Some("vllm-0.15.1"));
        assert_eq!(chosen("vllm-nightly-2026-03-20"), Some("vllm-0.18.0"));
        assert_eq!(chosen("vllm-nightly-2025-01-01"), None);
    }

    #[test]
    fn names_without_a_version_older_ones_and_other_products_have_no_stack() {
        for name in [
            "",
            "-",
            "vllm",
            "vllm-main",
            "0.15.1",
            "sglang-0.5.3",
            "vllm-0.6.3",
            "vllm-nightly-5b8c30d62b75",
            "vllm-15",
            "vllm-2026",
            "\u{e4}-0.15.1",
        ] {
            assert_eq!(chosen(name), None, "{name}");
        }
    }
}
