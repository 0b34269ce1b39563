//! A model on GPUs, as an engine serves it.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rooflut::sim::{Role, SchedulingPolicy, SimConfig};
use rooflut::step::{StepBatch, StepModel, StepTime};
use rooflut_cli::PreparedRun;
use rooflut_scenario::table_of;

use crate::arrays::{switch, whole};
use crate::batch::{chunks, groups};
use crate::border::compute;
use crate::error::error;
use crate::scenario::of_keys;
use crate::server::Server;
use crate::steps::{Arguments, Decodes, Prefills, Steps};

/// Steps between two looks at the signals.
const BLOCK: usize = 1 << 16;
/// Keys of a scenario that describe several servers.
const OF_SEVERAL: [&str; 10] = [
    "replicas",
    "router",
    "fleet",
    "lose",
    "prefill_replicas",
    "decode_replicas",
    "prefill",
    "decode",
    "link_bandwidth",
    "link_latency",
];

/// A model on GPUs, as an engine serves it.
///
/// The keyword arguments are the keys of a scenario that describe one server: ``model``, ``gpu``, ``tp``, ``dtype``,
/// ``engine`` (a name, or the file that ``rooflut calibrate`` wrote), ``max_num_seqs``, ``kv_blocks`` and so on, which
/// ``rooflut help run`` lists as flags. All kernels are
/// found here, so steps cannot fail.
#[pyclass(frozen, module = "rooflut")]
pub(crate) struct Deployment {
    deployment: rooflut::Deployment,
    /// The limits of its server, which lower the longest request to what the KV cache holds.
    config: SimConfig,
    title: String,
    /// The keys that it was made of.
    keys: Py<PyDict>,
}

#[pymethods]
impl Deployment {
    #[new]
    #[pyo3(signature = (**keys))]
    fn new(py: Python<'_>, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Deployment> {
        let keys = keys.map_or_else(|| PyDict::new(py), Clone::clone);
        let mut scenario = of_keys(Some(&keys))?.scenario().clone();
        check_keys(&keys)?;
        if scenario.server.policy() == SchedulingPolicy::Priority {
            // The scenario of a run needs a load with priorities; here each request is pushed with its own.
            scenario.workload.priorities = Some("1".parse().map_err(error)?);
        }
        let kept = py.import("copy")?.call_method1("deepcopy", (keys,))?;
        let keys = kept.cast_into::<PyDict>()?.unbind();
        let built = compute(py, || {
            let prepared = PreparedRun::try_new(&scenario, &rooflut_cli::open).map_err(|error| error.in_keys())?;
            let run = prepared.run();
            Ok::<Deployment, String>(Deployment {
                deployment: run.deployment().clone(),
                config: *run.config(),
                title: run.placement().to_string(),
                keys,
            })
        })?;
        built.map_err(error)
    }

    /// Returns the keys, from which copies and pickles are made anew.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> ((), Bound<'py, PyDict>) {
        ((), self.keys.bind(py).clone())
    }

    /// Computes the time of one step, part by part.
    ///
    /// ``prefill`` is a list of prompt chunks: each the tokens of a whole prompt, or a tuple of new tokens, the length
    /// of the prompt up to their end, and whether the prompt ends there (by default it does). ``decode`` is a list of
    /// groups of equal requests: tuples of their number, the KV length of each, new tokens included, and the drafted
    /// tokens of each (by default 0).
    #[pyo3(signature = (*, prefill = None, decode = None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        prefill: Option<&Bound<'py, PyAny>>,
        decode: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (prefill, decode) = (chunks(prefill)?, groups(decode)?);
        let batch = StepBatch { prefill: &prefill, decode: &decode };
        let time = compute(py, || self.deployment.step_model().step_time(&batch))?;
        step_dict(py, &time)
    }

    /// Computes the times of many steps in nanoseconds.
    ///
    /// Each step has a prompt chunk of ``prefill_tokens`` new tokens, with the KV length at its end, and a group of
    /// ``decode_requests`` whose KV lengths add up to ``decode_kv_tokens``. ``prefill_last`` is false where the prompt
    /// continues, ``decode_drafted`` the drafted tokens of each request, ``decode_outside_tokens`` the KV tokens of the
    /// group that lie outside the window or chunk of layers with one (by default as few as the mean length allows). 0
    /// tokens or requests add nothing; single numbers apply to all steps. With ``prefill_offsets`` or
    /// ``decode_offsets``, step i has the rows from ``offsets[i]`` to ``offsets[i + 1]``.
    #[pyo3(signature = (*, prefill_tokens = None, prefill_kv_len = None, prefill_last = None, prefill_offsets = None,
        decode_requests = None, decode_kv_tokens = None, decode_drafted = None, decode_outside_tokens = None,
        decode_offsets = None))]
    #[expect(clippy::too_many_arguments, reason = "columns, each by its name")]
    fn step_times_ns<'py>(
        &self,
        py: Python<'py>,
        prefill_tokens: Option<&Bound<'py, PyAny>>,
        prefill_kv_len: Option<&Bound<'py, PyAny>>,
        prefill_last: Option<&Bound<'py, PyAny>>,
        prefill_offsets: Option<&Bound<'py, PyAny>>,
        decode_requests: Option<&Bound<'py, PyAny>>,
        decode_kv_tokens: Option<&Bound<'py, PyAny>>,
        decode_drafted: Option<&Bound<'py, PyAny>>,
        decode_outside_tokens: Option<&Bound<'py, PyAny>>,
        decode_offsets: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let prefill = Prefills::read(&Arguments {
            names: ["prefill_tokens", "prefill_kv_len", "prefill_last", "prefill_offsets"],
            values: [prefill_tokens, prefill_kv_len, prefill_last, prefill_offsets],
            third: (true, switch),
        })?;
        let groups = Arguments {
            names: ["decode_requests", "decode_kv_tokens", "decode_drafted", "decode_offsets"],
            values: [decode_requests, decode_kv_tokens, decode_drafted, decode_offsets],
            third: (0, |name, drafted| whole(name, drafted, 0)),
        };
        let decode = Decodes::read(&groups, decode_outside_tokens)?;
        let steps = Steps::new(prefill, decode)?;
        let model = self.deployment.step_model();
        let mut times_ns = Vec::with_capacity(steps.count);
        while times_ns.len() < steps.count {
            let block = times_ns.len()..steps.count.min(times_ns.len() + BLOCK);
            compute(py, || steps.time(block, model, &mut times_ns))?.map_err(error)?;
            py.check_signals()?;
        }
        Ok(PyArray1::from_vec(py, times_ns))
    }

    /// Creates an idle server at time 0.
    ///
    /// With ``role="prefill"`` and ``role="decode"`` it is one of separate prefill and decode servers, for routers of your
    /// own: push a request with one output token to a prefill server, and when that has finished the whole request to a decode
    /// server, with the time at which its KV entries are there as ``arrival_ns``. A prefill server delays no outputs in the
    /// API server; a decode server has no API server before the engine, no queue limit and no patience of clients.
    #[pyo3(signature = (*, role = "whole"))]
    fn server(&self, py: Python<'_>, role: &str) -> PyResult<Server> {
        let role: Role = role.parse().map_err(|expected| error(format!("role: {expected}, found {role:?}")))?;
        let dp = self.deployment.parallelism().dp;
        if dp > 1 {
            return Err(error(format!(
                "dp: expected a single rank, found {dp} ranks that step together; use simulate()"
            )));
        }
        let model = self.deployment.served_model();
        let server = compute(py, || rooflut::sim::Server::try_new(model, self.config.with_role(role)))?;
        server.map(Server::new).map_err(error)
    }

    /// KV blocks of the server.
    #[getter]
    fn kv_blocks(&self) -> u32 {
        self.config.kv_blocks
    }

    /// Tokens of a KV block.
    #[getter]
    fn block_size(&self) -> u32 {
        self.config.block_size
    }

    /// Longest request, prompt and output together, in tokens.
    #[getter]
    fn max_model_len(&self) -> u32 {
        self.config.max_model_len
    }

    /// Maximum number of running requests.
    #[getter]
    fn max_num_seqs(&self) -> u32 {
        self.config.max_num_seqs
    }

    /// Maximum number of tokens of a step.
    #[getter]
    fn max_num_batched_tokens(&self) -> u32 {
        self.config.max_num_batched_tokens
    }

    /// Share of each GPU's memory that the server uses.
    #[getter]
    fn gpu_memory_utilization(&self) -> f64 {
        self.deployment.memory_limits().gpu_memory_utilization
    }

    /// Maximum number of tokens of a step that runs as a CUDA graph.
    #[getter]
    fn cuda_graph_max_tokens(&self) -> u32 {
        self.deployment.cuda_graph_max_tokens()
    }

    fn __repr__(&self) -> String {
        format!("<rooflut.Deployment {}>", self.title)
    }
}

/// Refuses keys that say nothing of one server, also in the dictionary of their table.
fn check_keys(keys: &Bound<'_, PyDict>) -> PyResult<()> {
    for (key, value) in keys {
        let name: String = key.extract()?;
        let of_load = matches!(table_of(&name), Some("workload" | "output")) && name != "strict";
        if of_load || matches!(name.as_str(), "workload" | "output") || OF_SEVERAL.contains(&name.as_str()) {
            return Err(error(format!("{name} has no effect on the deployment of one server; give it to simulate()")));
        }
        if let Ok(keys) = value.cast::<PyDict>() {
            check_keys(keys)?;
        }
    }
    Ok(())
}

fn step_dict<'py>(py: Python<'py>, time: &StepTime) -> PyResult<Bound<'py, PyDict>> {
    let parts = PyList::empty(py);
    for part in time.parts() {
        let dict = PyDict::new(py);
        dict.set_item("part", part.part.name())?;
        dict.set_item("time_s", part.time.0)?;
        dict.set_item("binding", part.binding.name())?;
        dict.set_item("fitted_share", part.source.fitted_share())?;
        let provenance = part.source.provenance().map(|provenance| provenance.to_string());
        dict.set_item("provenance", provenance)?;
        parts.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("total_ns", time.total().to_nanos())?;
    dict.set_item("total_s", time.total().0)?;
    dict.set_item("bound_s", time.bound().0)?;
    dict.set_item("binding", time.binding().name())?;
    dict.set_item("fitted_share", time.fitted_share())?;
    let provenance = time.provenance().map(|provenance| provenance.to_string());
    dict.set_item("provenance", provenance)?;
    dict.set_item("parts", parts)?;
    Ok(dict)
}
