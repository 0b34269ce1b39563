//! Requests as lists of their figures: `vllm bench serve --save-detailed`, SGLang's `bench_serving --output-details`.

use rooflut_error::Error;

use crate::json::{contents, count, figure, list, number, wrong};
use crate::requests::{Room, Sample};
use crate::value::Value;

/// Takes the lists `input_lens`, `output_lens`, `ttfts`, `itls`, `latencies`, `start_times` (seconds) and `errors`, as
/// far as there are; none without details. The gaps between tokens are no longer in `result` then.
pub(crate) fn samples(result: &mut Value, room: &mut Room) -> Result<Vec<Sample>, Error> {
    let Some(prompts) = list(result, "/input_lens")?.filter(|_| result.get("ttfts").is_some()) else {
        return Ok(Vec::new());
    };
    let expected = prompts.len();
    for name in ["output_lens", "ttfts", "itls", "latencies", "start_times", "errors"] {
        let found = list(result, &format!("/{name}"))?.map_or(expected, <[Value]>::len);
        if found != expected {
            return Err(contents(format!(
                "{name}: expected {expected} elements as in input_lens, found {found}; write the result again"
            )));
        }
    }
    let has_gaps = result.get("itls").is_some();
    let gaps = result.take_list("itls").into_iter().flatten().map(Some).chain(std::iter::repeat(None));
    let samples = (0..expected).zip(gaps).map(|(index, gaps)| sample(result, index, has_gaps, gaps));
    room.collect(samples)
}

fn sample(result: &Value, index: usize, has_gaps: bool, gaps: Option<Value>) -> Result<Sample, Error> {
    let ms = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1e3);
    let at = |name: &str| Ok::<_, Error>(ms(number(result, &format!("/{name}/{index}"))?));
    let output_tokens = count(result, &format!("/output_lens/{index}"))?;
    let error = result.pointer(&format!("/errors/{index}")).and_then(Value::as_str);
    let gaps = match &gaps {
        None | Some(Value::Null) => &[],
        Some(Value::List(gaps)) => &**gaps,
        Some(found) => return Err(wrong(&format!("/itls/{index}"), "a list", found)),
    };
    let gap = |(number, gap)| figure(Some(gap), &format!("/itls/{index}/{number}")).map(ms).transpose();
    let gaps_ms = gaps.iter().enumerate().filter_map(gap).collect::<Result<Vec<f64>, _>>()?;
    let ttft_ms = at("ttfts")?;
    // Both clients count the gaps up to the last token.
    let summed = || ttft_ms.filter(|_| has_gaps).map(|ttft| ttft + gaps_ms.iter().sum::<f64>());
    Ok(Sample {
        has_failed: error.map_or(output_tokens == Some(0), |error| !error.is_empty()),
        start_s: number(result, &format!("/start_times/{index}"))?,
        prompt_tokens: count(result, &format!("/input_lens/{index}"))?,
        output_tokens,
        e2e_ms: at("latencies")?.or_else(summed),
        ttft_ms,
        tpot_ms: None,
        gaps_ms,
    })
}
