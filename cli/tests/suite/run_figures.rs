//! `rooflut run`: goodput, use of the server, percentiles without records.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "test code outside of test functions")]

use std::path::Path;

use crate::support::run_files::{columns, run};
use crate::support::{failure_with_answer, file, json, list, new_path, number, success};
use serde_json::Value;

#[test]
fn the_server_is_as_busy_as_its_load() {
    let run = |rate| json(&format!("run --requests 200 --rate {rate}"));
    let (idle, busy) = (run("0.1"), run("18"));
    // 256 tokens of 6 ms every 10 s.
    assert!((0.1..0.3).contains(&number(&idle, "/busy_share")), "{idle}");
    assert!((0.9..=1.0).contains(&number(&busy, "/busy_share")), "{busy}");
    for answer in [idle, busy] {
        // Little's law; queue and API server hold no slot.
        let rate = number(&answer, "/throughput/requests_per_s");
        let time_s = (number(&answer, "/e2e_ms/mean") - number(&answer, "/queue_ms/mean")) / 1e3;
        let running = number(&answer, "/running_mean");
        assert!((running / (rate * time_s) - 1.0).abs() < 0.02, "{answer}");
        assert!(number(&answer, "/kv_blocks_mean") < number(&answer, "/kv_blocks_peak"));
    }
}

#[test]
fn goodput_counts_requests_within_all_limits() {
    let (_folder, path) = new_path("requests.csv");
    let base = format!("run --requests 300 --requests-out {path}");
    let with = |limits: &str| json(&format!("{base} {limits}"));
    assert_eq!(with("")["goodput"], Value::Null);
    // As vLLM's benchmark takes them, and one by one.
    let answer = with("--goodput ttft:45 tpot:10.5");
    let again = with("--goodput ttft:45 --goodput tpot:10.5");
    assert_eq!(answer, again);
    let mut reader = csv::Reader::from_path(path).expect("a file");
    let header = reader.headers().expect("a header").clone();
    let place = |name: &str| header.iter().position(|found| found == name).expect(name);
    let (ttft, tpot) = (place("ttft_ms"), place("tpot_ms"));
    let ms = |text: &str| text.parse::<f64>().expect("ms");
    let met = reader
        .records()
        .map(|row| row.expect("a row"))
        .filter(|row| ms(&row[ttft]) <= 45.0 && ms(&row[tpot]) <= 10.5)
        .count();
    assert!((50..250).contains(&met), "{met}");
    assert_eq!(answer["goodput"]["met"], met);
    assert_eq!(answer["goodput"]["ttft_ms"], 45.0);
    assert_eq!(answer["goodput"]["e2e_ms"], Value::Null);
    let per_s = number(&answer, "/goodput/requests_per_s") * number(&answer, "/makespan_s");
    assert!((per_s - met as f64).abs() < 1e-6);
    let people = success("run --requests 300 --goodput ttft:45 e2e:1e5");
    let told = "requests/s with TTFT <= 45 ms, E2E <= 100000 ms (";
    assert!(people.contains(told), "{people}");
}

/// A column of times of a file of requests, in ascending order.
fn times(path: &str, name: &str) -> Vec<f64> {
    let rows = columns(Path::new(path));
    let mut times: Vec<f64> = rows[name].iter().flatten().copied().collect();
    times.sort_by(f64::total_cmp);
    times
}

/// As numpy has it.
fn percentile(times: &[f64], percent: usize) -> f64 {
    let rank = (times.len() - 1) * percent;
    let (low, high) = (times[rank / 100], times[rank.div_ceil(100)]);
    low + (high - low) * (rank % 100) as f64 / 100.0
}

#[test]
fn many_requests_have_their_percentiles_from_histograms_and_say_so() {
    const SAID: &str = "percentiles from histograms, within 0.05 %; exact up to 100_000 requests";
    let (_folder, path) = new_path("requests.csv");
    let base = "run --output 3 --requests 120000";
    let goodput = "--goodput ttft:30";
    let streamed = json(&format!("{base} --requests-out {path} {goodput}"));
    assert_eq!(json(&format!("{base} {goodput}")), streamed);
    let error = number(&streamed, "/percentile_error");
    assert!(error > 0.0 && error < 0.001);
    for name in ["ttft_ms", "tpot_ms", "e2e_ms", "queue_ms"] {
        let times = times(&path, name);
        assert_eq!(times.len(), 120_000);
        for (key, percent) in [("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99)] {
            let pointer = format!("/{name}/{key}");
            let (a, b) = (number(&streamed, &pointer), percentile(&times, percent));
            // The warm-up and the drain, some of the times, are left out.
            assert!((a - b).abs() <= 0.004 * b + 2e-6, "{pointer} {a} {b}");
        }
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((number(&streamed, &format!("/{name}/mean")) / mean - 1.0).abs() < 0.002);
    }
    let met = times(&path, "ttft_ms").iter().filter(|ms| **ms <= 30.0).count();
    let share = number(&streamed, "/goodput/met") / met as f64;
    assert!((share - 1.0).abs() < 0.002, "{share}");
    // A trace has no steady state; its counts are those of the same requests.
    let replayed = json(&format!("run --trace {path}"));
    for key in ["completed", "steps", "preemptions", "makespan_s"] {
        assert_eq!(streamed[key], replayed[key], "{key}");
    }
    assert!(success(base).contains(SAID));
    assert!(success(base).lines().all(|line| line.len() <= 100));
    let few = "run --output 3 --requests 100000";
    assert!(!success(few).contains(SAID));
    assert_eq!(number(&json(few), "/percentile_error").to_bits(), 0);
}

#[test]
fn batch_sizes_are_told_over_the_time_in_which_steps_ran() {
    let (answer, folder) = run();
    let steps = columns(&folder.path().join("steps.csv"));
    let column = |name: &str| steps[name].iter().map(|value| value.expect("a number"));
    let sizes = column("prefill_chunks").zip(column("decode_requests"));
    let mut sizes: Vec<(f64, f64)> =
        (sizes.map(|(chunks, decodes)| chunks + decodes)).zip(column("duration_ms")).collect();
    sizes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let busy_ms: f64 = sizes.iter().map(|(_, ms)| ms).sum();
    let mean = sizes.iter().map(|(size, ms)| size * ms).sum::<f64>() / busy_ms;
    assert!((number(&answer, "/batch_size/mean") / mean - 1.0).abs() < 1e-9);
    for (key, share) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
        let mut passed_ms = 0.0;
        let at = sizes.iter().find(|(_, ms)| {
            passed_ms += ms;
            passed_ms >= share * busy_ms * (1.0 - 1e-12)
        });
        let (size, _) = at.expect("a size");
        let found = number(&answer, &format!("/batch_size/{key}"));
        assert!((found - size).abs() < 0.5, "{key} {found} {size}");
    }
    // A step takes as many requests on two servers as on one with half the load.
    let one = json("run --arrival constant --rate 10 --requests 2000");
    let two = json("run --arrival constant --rate 20 --requests 4000 --replicas 2");
    let ratio = number(&two, "/batch_size/mean") / number(&one, "/batch_size/mean");
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    assert!(success("run").contains("  batch        "));
    let (none, _) = failure_with_answer("run --requests 1 --max-model-len 9 --json");
    let none: Value = serde_json::from_str(&none).expect("JSON");
    assert_eq!(none["batch_size"], Value::Null);
}

#[test]
fn the_interval_is_of_the_model_and_stands_beside_that_of_the_seeds() {
    let flags = "run --rate 25 --requests 500";
    let (one, all) = (json(flags), json(&format!("{flags} --interval 0.8")));
    assert_eq!(one["interval"], Value::Null);
    assert_eq!(all["ttft_ms"], one["ttft_ms"]);
    let at = |pointer: &str| number(&all, pointer);
    assert!(at("/interval/ttft_ms/p99/low") < at("/ttft_ms/p99"));
    assert!(at("/ttft_ms/p99") < at("/interval/ttft_ms/p99/high"));
}

#[test]
fn seeds_give_ranges_beside_the_figures_of_the_first() {
    let flags = "run --rate 25 --requests 500";
    let (one, all) = (json(flags), json(&format!("{flags} --seeds 3")));
    assert_eq!(one["seeds"], Value::Null);
    assert_eq!(all["ttft_ms"], one["ttft_ms"]);
    let at = |key: &str| number(&all, &format!("/seeds/ttft_ms/p99/{key}"));
    assert!(at("lowest") < at("mean") && at("mean") < at("highest"));
}

#[test]
fn the_longest_request_is_what_the_kv_cache_holds() {
    let flags = "run --model llama-3.1-70b --dtype fp8 --kv-dtype fp8 --rate 1 --requests 9 --max-num-seqs 64";
    let answer = json(flags);
    assert_eq!(answer["max_model_len_lowered_from"], 131_072);
    let held = number(&answer, "/kv_blocks") * number(&answer, "/block_size");
    assert_eq!(answer["max_model_len"].as_f64(), Some(held));
    let few = "run --requests 9 --kv-blocks 100";
    assert_eq!(json(few)["max_model_len"], 1_600);
    assert_eq!(json("run --requests 9")["max_model_len_lowered_from"], Value::Null);
}

#[test]
fn cost_and_energy_are_those_of_the_gpus_and_their_busy_time() {
    let answer = json("run --model llama-3.1-70b --tp 4 --rate 1 --requests 20 --replicas 2");
    let at = |pointer: &str| number(&answer, pointer);
    let gpu_hours = 8.0 * at("/makespan_s") / 3600.0;
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
    assert!(near(at("/cost/gpu_hours"), gpu_hours));
    let usd = gpu_hours * at("/cost/usd_per_gpu_hour");
    assert!(near(at("/cost/usd"), usd));
    let busy = gpu_hours * at("/busy_share");
    assert!(at("/busy_share") < 0.99);
    assert!(near(at("/energy_bound/wh"), 700.0 * busy));
    // 20 requests of 512 + 256 tokens.
    for (amount, total) in [("/cost/usd_per", usd), ("/energy_bound/wh_per", 700.0 * busy)] {
        let per = |work: &str| at(&format!("{amount}/{work}"));
        assert!(near(per("request"), total / 20.0));
        assert!(near(per("million_output_tokens"), total / 20.0 / 256.0 * 1e6));
        assert!(near(per("million_tokens"), total / 20.0 / 768.0 * 1e6));
    }
}

#[test]
fn tokens_per_s_of_a_user_and_of_a_gpu_follow_from_tpot_and_throughput() {
    let answer = json("run --tp 2 --replicas 2 --requests 40");
    let per_user = number(&answer, "/tokens_per_s_per_user");
    assert!((per_user * number(&answer, "/tpot_ms/mean") / 1e3 - 1.0).abs() < 1e-12);
    for rate in ["output_tokens_per_s", "total_tokens_per_s"] {
        let (all, per_gpu) =
            (number(&answer, &format!("/throughput/{rate}")), number(&answer, &format!("/{rate}_per_gpu")));
        // Four GPUs.
        assert!((all / per_gpu / 4.0 - 1.0).abs() < 1e-12, "{rate}");
    }
    assert_eq!(json("run --output 1 --requests 9")["tokens_per_s_per_user"], Value::Null);
}

#[test]
fn the_hit_rate_is_the_share_of_prompt_tokens_in_full_blocks_of_the_prefix() {
    // All but the first request of a prefix find 992 of 1,000 + 512 tokens.
    let rate = |flags: &str| number(&json(&format!("run --requests 40 {flags}")), "/prefix_cache_hit_rate");
    let found = rate("--users 1 --prefixes 1x1000");
    assert!((found - 39.0 * 992.0 / 40.0 / 1_512.0).abs() < 1e-9, "{found}");
    assert!((rate("--cached-prompt 100") - 96.0 / 512.0).abs() < 1e-9);
    assert!(rate("").to_bits() == 0);
    assert_eq!(json("run --requests 9 --prefix-caching off")["prefix_cache_hit_rate"], Value::Null);
    // Given, it is met on average.
    let given = number(&json("run --requests 2000 --prefix-hit-rate 0.8"), "/prefix_cache_hit_rate");
    assert!((given - 0.8).abs() < 1e-3, "{given}");
}

#[test]
fn quantiles_agree_with_the_percentiles_and_span_all_requests() {
    let (_folder, path) = new_path("requests.csv");
    let run = |requests: u32| json(&format!("run --requests {requests} --quantiles --requests-out {path}"));
    let at = |answer: &Value, latency: &str, level: f64| {
        let levels = list(answer, "/quantiles/levels").iter().filter_map(Value::as_f64);
        let place = levels.clone().position(|it| (it - level).abs() < 1e-12).expect("the level");
        let of = list(answer, &format!("/quantiles/{latency}_ms"));
        assert!(levels.count() == of.len() && of.is_sorted_by_key(|ms| ms.as_f64()), "{answer}");
        of[place].as_f64().expect("ms")
    };
    let answer = run(900);
    for latency in ["ttft", "tpot", "itl", "e2e", "queue"] {
        for (figure, level) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
            assert_eq!(answer[format!("{latency}_ms")][figure], at(&answer, latency, level), "{latency} {figure}");
        }
    }
    // Too few for a steady state: the figures are those of all requests, of which the table has no p99.
    let short = run(450);
    for latency in ["ttft", "tpot", "e2e", "queue"] {
        let all = times(&path, &format!("{latency}_ms"));
        for (level, expected) in [(0.0, all[0]), (1.0, all[all.len() - 1])] {
            let found = at(&short, latency, level);
            assert!((found - expected).abs() < 1e-5, "{latency} {level}: {found} {expected}");
        }
        assert_eq!(short[format!("{latency}_ms")]["p99"], Value::Null);
        assert!(at(&short, latency, 0.99) > 0.0, "{short}");
    }
    assert_eq!(json("run --requests 20 --output 1 --quantiles")["quantiles"]["tpot_ms"], Value::Null);
    assert_eq!(json("run --requests 9")["quantiles"], Value::Null);
}

#[test]
fn windows_without_a_width_are_those_of_a_round_width() {
    let run = |windows: &str| json(&format!("run --requests 600 --rate 3 --windows {windows}"));
    let answer = run("auto");
    let windows = list(&answer, "/windows");
    assert!((40..=100).contains(&windows.len()), "{}", windows.len());
    let width_s = number(&windows[0], "/to_s");
    assert_eq!(answer["windows"], run(&width_s.to_string())["windows"]);
    assert_eq!(answer["ttft_ms"], json("run --requests 600 --rate 3")["ttft_ms"]);
    let text = success("run --requests 600 --rate 3 --windows auto");
    assert!(text.contains(&format!(" {} of {width_s} s: mean TTFT up to ", windows.len())), "{text}");
}

#[test]
fn windows_divide_all_requests_of_a_run() {
    let (folder, path) = new_path("requests.csv");
    let windows = folder.path().join("windows.csv");
    let answer =
        json(&format!("run --requests 600 --windows 7.5s --windows-out {} --requests-out {path}", windows.display()));
    let found = answer["windows"].as_array().expect("windows");
    let partial: Vec<bool> = found.iter().map(|window| window["is_partial"] == true).collect();
    assert_eq!(partial.iter().filter(|is_partial| **is_partial).count(), 1);
    assert_eq!(partial.last(), Some(&true));
    let rows = columns(Path::new(&path));
    let column = |name: &str| rows[name].iter().map(|value| value.expect("a number"));
    let ends: Vec<(f64, f64)> = column("arrival_ms").zip(column("e2e_ms")).map(|(at, e2e)| (at, at + e2e)).collect();
    let (mut arrived, mut completed) = (0, 0);
    for window in found {
        let (from_s, to_s) = (number(window, "/from_s"), number(window, "/to_s"));
        let within = |ms: f64| (from_s..to_s).contains(&(ms / 1e3));
        let here = ends.iter().filter(|(at, _)| within(*at)).count();
        assert!((number(window, "/arrived") - here as f64).abs() < 0.5);
        arrived += here;
        let rate = number(window, "/requests_per_s") * (to_s - from_s);
        assert!((rate - number(window, "/completed")).abs() < 1e-6);
        completed += number(window, "/completed").round() as u64;
    }
    assert_eq!((arrived, completed), (600, 600));
    let lines = columns(&windows);
    for (key, column) in
        [("arrived", "arrived"), ("kv_blocks_mean", "kv_blocks_mean"), ("waiting_mean", "waiting_mean")]
    {
        let of_json: Vec<Option<f64>> = found.iter().map(|window| window[key].as_f64()).collect();
        assert_eq!(lines[column], of_json, "{key}");
    }
    let means: Vec<Option<f64>> = found.iter().map(|window| window["ttft_ms"]["mean"].as_f64()).collect();
    assert_eq!(lines["ttft_mean_ms"], means);
    assert_eq!(json("run --requests 9")["windows"], Value::Null);
}

#[test]
fn latencies_by_priority_are_those_of_its_requests() {
    let rows = (0..300).map(|index| format!("{},512,64,{}\n", 10 * index, 5 * u32::from(index % 3 > 0)));
    let (_trace, trace) =
        file("all.csv", format!("arrival_ms,prompt_tokens,output_tokens,priority\n{}", rows.collect::<String>()));
    let (_folder, path) = new_path("requests.csv");
    let answer = json(&format!("run --trace {trace} --max-num-seqs 16 --policy priority --requests-out {path}"));
    let rows = columns(Path::new(&path));
    let classes = answer["by_priority"].as_array().expect("classes");
    for (class, [priority, requests]) in classes.iter().zip([[0_u32, 100], [5, 200]]) {
        assert_eq!(class["priority"], priority);
        assert_eq!(class["completed"], requests);
        let (priority, requests) = (f64::from(priority), f64::from(requests));
        for latency in ["ttft_ms", "tpot_ms", "e2e_ms", "queue_ms"] {
            let of_class =
                rows["priority"].iter().map(|value| value.is_some_and(|value| (value - priority).abs() < 0.5));
            let times = rows[latency].iter().zip(of_class).filter(|(_, is_of)| *is_of).filter_map(|(ms, _)| *ms);
            let mean = times.sum::<f64>() / requests;
            let found = number(class, &format!("/{latency}/mean"));
            assert!((found / mean - 1.0).abs() < 1e-6, "{priority} {latency}: {found} {mean}");
        }
    }
    assert_eq!(classes.len(), 2);
    let [urgent, other] = [0, 1].map(|class| number(&classes[class], "/ttft_ms/mean"));
    assert!(urgent * 3.0 < other, "{urgent} {other}");
    assert_eq!(json("run --requests 9")["by_priority"], Value::Null);
}

#[test]
fn p99_9_needs_five_thousand_requests() {
    let rows = (0..5_000).map(|index| format!("{},{},2\n", 20 * index, 100 + 37 * (index % 70)));
    let (_trace, trace) =
        file("all.csv", format!("arrival_ms,prompt_tokens,output_tokens\n{}", rows.collect::<String>()));
    let (_folder, path) = new_path("requests.csv");
    let answer = json(&format!("run --trace {trace} --requests-out {path}"));
    let times = times(&path, "ttft_ms");
    let (rank, share) = (4_994, 0.001);
    let expected = times[rank] + (times[rank + 1] - times[rank]) * share;
    assert!((number(&answer, "/ttft_ms/p99_9") - expected).abs() < 1e-5);
    let fewer = format!("run --trace {trace} --trace-requests 4999");
    assert_eq!(json(&fewer)["ttft_ms"]["p99_9"], Value::Null);
    assert!(!success(&fewer).contains("p99.9"));
    assert!(success(&format!("run --trace {trace}")).contains("p99.9 ms"));
}
