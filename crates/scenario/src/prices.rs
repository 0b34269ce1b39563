//! Prices of GPUs.

use std::collections::BTreeMap;

use rooflut::hardware::gpus;
use rooflut_error::{Error, Kind, hint, key, misspelt, nearest, value};
use rooflut_report::Price;
use toml::Spanned;
use toml::de::DeValue;

use crate::gpu_price::{GpuPrice, USD};
use crate::text::{in_order, line_at, read_table, shown};
use crate::value::shortened;

/// The prices of a file that ships with this crate: on-demand list prices of a public cloud.
const BUILT_IN: &str = include_str!("../prices.toml");
/// The keys of a price.
const KEYS: [&str; 3] = ["usd_per_hour", "source", "date"];

/// Prices of GPUs by their names.
///
/// A file of prices is TOML with a table for each GPU:
///
/// ```
/// use rooflut_scenario::Prices;
/// let file = b"[h100]\nusd_per_hour = 2.5\nsource = 'our contract'\ndate = '2025-06'\n";
/// let prices = Prices::try_built_in()?.replaced_by(Prices::read(file, &[])?);
/// assert_eq!(prices.of("h100").map(|price| price.usd_per_gpu_hour), Some(2.5));
/// assert!(prices.of("h200").is_some());
///
/// let error = Prices::read(b"[h101]\nusd_per_hour = 2", &[]).unwrap_err().to_string();
/// assert!(error.starts_with("line 1: unknown GPU \"h101\" (nearest: h100"), "{error}");
/// # Ok::<(), rooflut_scenario::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Returns the default prices. Not every GPU has one.
    ///
    /// # Errors
    /// None is known; a test reads the file.
    pub fn try_built_in() -> Result<Prices, Error> {
        Prices::read(BUILT_IN.as_bytes(), &[])
    }

    /// Reads a file of prices. A GPU is one of rooflut's data sheets, or named in `own`.
    ///
    /// # Errors
    /// An error with its line: text that is not TOML, an unknown GPU or key, a missing key or a wrong value.
    pub fn read(bytes: &[u8], own: &[&str]) -> Result<Prices, Error> {
        let (text, table) = read_table(bytes)?;
        let file = PricesFile { text, own };
        let mut prices = BTreeMap::new();
        for (gpu, keys) in in_order(table.get_ref()) {
            prices.insert(gpu.get_ref().to_string(), file.price(gpu, keys)?);
        }
        if prices.is_empty() {
            Err(wrong(1, "expected a table for each GPU, such as [h100], found none; add one".to_owned()))
        } else {
            Ok(Prices(prices))
        }
    }

    /// Returns these prices, replaced by the prices of `others` for the same GPUs.
    #[must_use]
    pub fn replaced_by(mut self, others: Prices) -> Prices {
        self.0.extend(others.0);
        self
    }

    /// Returns these prices, replaced by given ones.
    ///
    /// # Errors
    /// A price of a GPU that is neither known nor in `own`, and two prices of one.
    pub(crate) fn with(mut self, given: &[GpuPrice], own: &[&str]) -> Result<Prices, Error> {
        for (index, GpuPrice { gpu, usd_per_hour }) in given.iter().enumerate() {
            if given.iter().take(index).any(|before| before.gpu == *gpu) {
                return Err(value("price", "one price of each GPU", format!("two of {gpu}; leave one")));
            }
            check_gpu(gpu, own).map_err(|text| Error::new(Kind::UnknownName, format!("{}: {text}", key("price"))))?;
            let price = Price { usd_per_gpu_hour: *usd_per_hour, source: None, date: None };
            self.0.insert(gpu.clone(), price);
        }
        Ok(self)
    }

    /// Returns the price of a GPU; `None` if it is not known.
    pub fn of(&self, gpu: &str) -> Option<&Price> {
        self.0.get(gpu)
    }
}

/// A file that is being read.
struct PricesFile<'f> {
    text: &'f str,
    own: &'f [&'f str],
}

impl PricesFile<'_> {
    fn price(&self, gpu: &Spanned<impl AsRef<str>>, keys: &Spanned<DeValue<'_>>) -> Result<Price, Error> {
        let name = gpu.get_ref().as_ref();
        let line = line_at(self.text, gpu.span().start);
        check_gpu(name, self.own).map_err(|text| wrong(line, text))?;
        let DeValue::Table(table) = keys.get_ref() else {
            let found = shown(self.text.get(keys.span()));
            let expected = "expected a table with usd_per_hour, optionally source and date";
            return Err(wrong(line, format!("{name}: {expected}, found {found}; correct it")));
        };
        for (key, _) in in_order(table) {
            let found = key.get_ref().as_ref();
            if !KEYS.contains(&found) {
                let (found, near) = (shortened(found), hint(misspelt(found, KEYS).as_slice()));
                let text = format!(
                    "expected one of the keys {}, found {found:?}{near}; rename or remove it, and give prices in US \
                     dollars",
                    KEYS.join(", ")
                );
                return Err(wrong(line_at(self.text, key.span().start), text));
            }
        }
        let usd = table.get("usd_per_hour");
        let usd =
            usd.ok_or_else(|| wrong(line, format!("{name}.usd_per_hour: expected a value, found none; add it")))?;
        Ok(Price {
            usd_per_gpu_hour: self.usd("usd_per_hour", usd)?,
            source: table.get("source").map(|value| self.words("source", value)).transpose()?,
            date: table.get("date").map(|value| self.date(value)).transpose()?,
        })
    }

    fn usd(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<f64, Error> {
        let number = match value.get_ref() {
            DeValue::Float(_) | DeValue::Integer(_) => self.text.get(value.span()),
            _ => None,
        };
        let number = number.and_then(|text| text.replace('_', "").parse::<f64>().ok()).filter(|usd| USD.contains(usd));
        let expected = "US dollars, a number from 0.0001 to 1_000_000";
        number.ok_or_else(|| self.wrong(key, expected, value))
    }

    fn words(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, Error> {
        let text = value
            .get_ref()
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty() && !text.contains(char::is_control))
            .map(str::to_owned);
        text.ok_or_else(|| self.wrong(key, "a line of text in quotes", value))
    }

    /// Reads a year or a date, quoted or not.
    fn date(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Error> {
        let text = match value.get_ref() {
            DeValue::Datetime(_) | DeValue::Integer(_) => self.text.get(value.span()),
            other => other.as_str(),
        };
        let text = text.filter(|text| is_date(text)).map(str::to_owned);
        text.ok_or_else(|| self.wrong("date", "a year or a date, as in \"2025-06\"", value))
    }

    fn wrong(&self, key: &str, expected: &str, value: &Spanned<DeValue<'_>>) -> Error {
        let found = shown(self.text.get(value.span()));
        let line = line_at(self.text, value.span().start);
        wrong(line, format!("{key}: expected {expected}, found {found}; correct it"))
    }
}

/// Refuses a GPU that has neither a data sheet nor tables in `own`; returns the message.
fn check_gpu(name: &str, own: &[&str]) -> Result<(), String> {
    let known = gpus::ALL.map(|gpu| gpu.name.to_string());
    let names = known.iter().map(String::as_str);
    let mut names: Vec<&str> = names.chain(own.iter().copied()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    names.sort_unstable();
    names.dedup();
    let (found, near) = (shortened(name), hint(&nearest(name, names)));
    Err(format!("unknown GPU {found:?}{near}; use {}, or the GPU of the run's own tables", known.join(", ")))
}

/// An error in a line of a file of prices.
fn wrong(line: u64, text: String) -> Error {
    Error::new(Kind::Contents, text).at_line(line)
}

/// Returns whether a text is a year, a month or a day: `2025`, `2025-06`, `2025-06-30`.
fn is_date(text: &str) -> bool {
    let number = |part: &str, digits: usize| {
        let is_number = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    };
    let mut parts = text.splitn(3, '-');
    let Some(year) = parts.next().and_then(|part| number(part, 4)) else {
        return false;
    };
    let [month, day] = [parts.next(), parts.next()].map(|part| part.map(|part| number(part, 2).unwrap_or(0)));
    let month = month.unwrap_or(1);
    (1..=12).contains(&month) && (1..=days(year, month)).contains(&day.unwrap_or(1))
}

/// Returns the number of days of a month.
fn days(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use rooflut_error::not_text;

    use super::*;

    #[test]
    fn the_default_prices_have_sources_and_dates() {
        let prices = Prices::try_built_in().unwrap();
        for gpu in ["a100", "b200", "h100", "h200", "l40s"] {
            let price = prices.of(gpu).unwrap();
            assert!((0.5..50.0).contains(&price.usd_per_gpu_hour), "{gpu}");
            assert!(price.origin().contains("check before use"), "{gpu}");
        }
        assert_eq!(prices.of("b300"), None);
    }

    #[test]
    fn a_file_may_price_a_gpu_of_its_own() {
        let file = "[my-gpu]\nusd_per_hour = 1_000\nsource = ' a quote '\ndate = 2025-06-30\n";
        let prices = Prices::read(file.as_bytes(), &["my-gpu"]).unwrap();
        let [source, date] = ["a quote", "2025-06-30"].map(|text| Some(text.to_owned()));
        let expected = Price { usd_per_gpu_hour: 1000.0, source, date };
        assert_eq!(prices.of("my-gpu"), Some(&expected));
        let refused = Prices::read(file.as_bytes(), &[]).unwrap_err();
        assert!(refused.to_string().contains("my-gpu"), "{refused}");
    }

    #[test]
    fn mistakes_have_their_lines() {
        let with = |line: &str| format!("[h100]\n{line}\nsource = 's'\ndate = '2025'\n");
        for (text, message) in [
            (String::new(), "line 1: expected a table for each GPU, such as [h100], found none; add one"),
            ("[h100".to_owned(), "line 1: invalid TOML: unclosed table, expected `]`; correct it"),
            (
                "h100 = 2.5".to_owned(),
                "line 1: h100: expected a table with usd_per_hour, optionally source and date, found 2.5; correct it",
            ),
            (
                with("usd = 2.5"),
                "line 2: expected one of the keys usd_per_hour, source, date, found \"usd\"; rename or remove it, and give prices in \
                 US dollars",
            ),
            (with(""), "line 1: h100.usd_per_hour: expected a value, found none; add it"),
            (
                with("usd_per_hour = -2.5"),
                "line 2: usd_per_hour: expected US dollars, a number from 0.0001 to 1_000_000, found -2.5; correct it",
            ),
            (
                with("usd_per_hour = '2.5'"),
                "line 2: usd_per_hour: expected US dollars, a number from 0.0001 to 1_000_000, found '2.5'; correct it",
            ),
            (
                with("usd_per_hour = nan"),
                "line 2: usd_per_hour: expected US dollars, a number from 0.0001 to 1_000_000, found nan; correct it",
            ),
            (
                with("usd_per_hour = 2").replace("'s'", "''"),
                "line 3: source: expected a line of text in quotes, found ''; correct it",
            ),
            (
                with("usd_per_hour = 2").replace("'2025'", "'2025-13'"),
                "line 4: date: expected a year or a date, as in \"2025-06\", found '2025-13'; correct it",
            ),
        ] {
            let error = Prices::read(text.as_bytes(), &[]).unwrap_err();
            assert_eq!(error.to_string(), message, "{text}");
        }
        for date in ["2025", "'2025'", "2025-06-30", "'2025-06'", "2024-02-29"] {
            let file = with("usd_per_hour = 2").replace("'2025'", date);
            assert!(Prices::read(file.as_bytes(), &[]).is_ok(), "{date}");
        }
        for date in
            ["'2025-02-29'", "'1900-02-29'", "'2025-00'", "'2025-6'", "'2025-06-31'", "25", "'2025-'", "'2025-06-01-'"]
        {
            let file = with("usd_per_hour = 2").replace("'2025'", date);
            let error = Prices::read(file.as_bytes(), &[]).unwrap_err();
            assert!(error.to_string().starts_with("line 4: date: expected a year or a date"), "{error}");
        }
        for usd in ["0.00009", "1_000_001", "1e300"] {
            let file = with(&format!("usd_per_hour = {usd}"));
            let error = Prices::read(file.as_bytes(), &[]).unwrap_err();
            assert!(error.to_string().starts_with("line 2: usd_per_hour: expected US dollars"), "{error}");
        }
        let error = Prices::read(b"a = 1\n\xff", &[]).unwrap_err();
        assert_eq!(error, not_text().at_line(2));
    }
}
