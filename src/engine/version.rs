//! Selects the stack for a version that has none of its own.

use super::{EngineStack, stacks};

/// Returns the stack for an engine that may have none of its own: the newest of the same product that is not newer.
///
/// Patches of one release count as equal. A name that ends with a date, as of a nightly build, is compared with the
/// dates of the releases. `None` for other products, for versions before all stacks, and for names without version or
/// date.
///
/// ```
/// use rooflut::engine::closest;
/// let name = |asked| closest(asked).map(|stack| stack.name);
/// assert_eq!(name("vllm-0.16.0"), Some("vllm-0.15.1"));
/// assert_eq!(name("vllm-nightly-2026-04-22"), Some("vllm-0.19.0"));
/// assert_eq!(name("vllm-0.6.3"), None);
/// ```
pub fn closest(name: &str) -> Option<&'static EngineStack> {
    let (product, version) = split(name)?;
    let not_newer = |stack: &&EngineStack| match version {
        Version::Date(date) => stack.released.is_some_and(|released| released <= date),
        Version::Release(asked) => release_of(stack) <= Some(asked),
    };
    of_product(product).filter(not_newer).max_by_key(release_of)
}

/// Returns the oldest stack of the same product, if `name` has a version or a date before it.
///
/// ```
/// use rooflut::engine::oldest;
/// assert_eq!(oldest("vllm-0.6.3").map(|stack| stack.name), Some("vllm-0.11.0"));
/// assert!(oldest("vllm-0.16.0").is_none() && oldest("vllm-main").is_none());
/// ```
pub fn oldest(name: &str) -> Option<&'static EngineStack> {
    let (product, _) = split(name).filter(|_| closest(name).is_none())?;
    of_product(product).min_by_key(release_of)
}

/// The version that a name ends with.
#[derive(Clone, Copy)]
enum Version<'n> {
    Release([u32; 2]),
    Date(&'n str),
}

/// Splits a name into the product and its version.
fn split(name: &str) -> Option<(&str, Version<'_>)> {
    let (product, version) = name.split_once(|c: char| !c.is_ascii_alphanumeric())?;
    let version = match date(name) {
        Some(date) => Version::Date(date),
        None => Version::Release(release(version)?),
    };
    Some((product, version))
}

/// Returns the stacks of a product that have a version.
fn of_product(product: &str) -> impl Iterator<Item = &'static EngineStack> {
    stacks::ALL.into_iter().filter(move |stack| {
        let (known, _) = stack.name.split_once('-').unwrap_or_default();
        known.eq_ignore_ascii_case(product) && release_of(stack).is_some()
    })
}

fn release_of(stack: &&EngineStack) -> Option<[u32; 2]> {
    release(stack.name.split_once('-')?.1)
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
    let number = |digits: core::ops::Range<usize>| date.get(digits)?.parse::<u8>().ok();
    let days = match number(5..7)? {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let is_date = date.bytes().zip(*b"YYYY-MM-DD").all(fits);
    (is_date && (1..=days).contains(&number(8..10)?)).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::{closest, oldest};

    fn chosen(name: &str) -> Option<&'static str> {
        closest(name).map(|stack| stack.name)
    }

    #[test]
    fn other_versions_take_the_newest_stack_that_is_not_newer() {
        for (stack, names) in [
            ("vllm-0.11.0", ["vllm==0.11.2", "vLLM-0.11.1rc1", "vllm-0.11"]),
            ("vllm-0.12.0", ["vllm-0.14.2rc1", "vllm-v0.14", "vllm-0.12.0"]),
            ("vllm-0.15.1", ["vllm-0.15.0", "vLLM 0.16.0", "vllm-0.15.1+cu130"]),
            ("vllm-0.33.0", ["vllm-0.33.9", "vllm-0.40", "vllm-1.0"]),
        ] {
            assert_eq!(names.map(chosen), [Some(stack); 3]);
        }
    }

    #[test]
    fn nightly_builds_take_the_newest_stack_released_at_their_date() {
        assert_eq!(chosen("vllm-nightly-2026-03-19"), Some("vllm-0.17.0"));
        assert_eq!(chosen("vllm-nightly-2026-03-20"), Some("vllm-0.18.0"));
        assert_eq!(chosen("vllm-nightly-2025-01-01"), None);
        for no_date in ["vllm-nightly-2026-13-01", "vllm-nightly-2026-04-31", "vllm-nightly-2026-04-00"] {
            assert_eq!(chosen(no_date), None, "{no_date}");
        }
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
            assert_eq!(oldest(name).is_some(), name == "vllm-0.6.3", "{name}");
        }
    }
}
