//! Requests as lists of their figures: `vllm bench serve --save-detailed`, SGLang's `bench_serving --output-details`.

use rooflut_error::Error;
use serde_json::Value;

use crate::json::{contents, count, list, number};
use crate::requests::Sample;

/// Reads the lists `input_lens`, `output_lens`, `ttfts`, `itls`, `latencies`, `start_times` (seconds) and `errors`, as far as
/// there are; none without details.
pub(crate) fn samples(result: &Value) -> Result<Vec<Sample>, Error> {
    let Some(prompts) = list(result, "/input_lens")?.filter(|_| result.get("ttfts").is_some()) else {
        return Ok(Vec::new());
    };
    for name in ["output_lens", "ttfts", "itls", "latencies", "start_times", "errors"] {
        let found = list(result, &format!("/{name}"))?.map_or(prompts.len(), Vec::len);
        if found != prompts.len() {
            let expected = prompts.len();
            return Err(contents(format!(
                "{name}: expected {expected} elements as in input_lens, found {found}; write the result again"
            )));
        }
    }
    (0..prompts.len()).map(|index| sample(result, index)).collect()
}

fn sample(result: &Value, index: usize) -> Result<Sample, Error> {
    let at = |path: &str| Ok::<_, Error>(number(result, path)?.map(|seconds| seconds * 1e3));
    let ms = |name: &str| at(&format!("/{name}/{index}"));
    let output_tokens = count(result, &format!("/output_lens/{index}"))?;
    let error = result.pointer(&format!("/errors/{index}")).and_then(Value::as_str);
    let gaps = list(result, &format!("/itls/{index}"))?.map_or(0, Vec::len);
    let gaps_ms = (0..gaps).filter_map(|gap| at(&format!("/itls/{index}/{gap}")).transpose());
    let gaps_ms = gaps_ms.collect::<Result<Vec<f64>, _>>()?;
    let ttft_ms = ms("ttfts")?;
    // Both clients count the gaps up to the last token.
    let summed = || ttft_ms.filter(|_| result.get("itls").is_some()).map(|ttft| ttft + gaps_ms.iter().sum::<f64>());
    Ok(Sample {
        has_failed: error.map_or(output_tokens == Some(0), |error| !error.is_empty()),
        start_s: number(result, &format!("/start_times/{index}"))?,
        prompt_tokens: count(result, &format!("/input_lens/{index}"))?,
        output_tokens,
        e2e_ms: ms("latencies")?.or_else(summed),
        ttft_ms,
        tpot_ms: None,
        gaps_ms,
    })
}
