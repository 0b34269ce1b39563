//! Deployments that hold a model in memory.

use rooflut::ErrorKind;
use rooflut::deployment::Capacity;
use rooflut::hardware::Dtype;
use rooflut::table::TableSet;
use rooflut_error::{Error, Kind};
use rooflut_report::ModelSize;
use serde::Serialize;

use crate::check::check_count;
use crate::engine::Engine;
use crate::library;
use crate::missing::Missing;
use crate::model::Model;
use crate::placement::Placement;
use crate::prices::Prices;
use crate::scenario::{Scenario, Server, Target};
use crate::vllm::VllmCommand;

/// Tensor parallelisms that are tried where none is given.
const RANKS: [u32; 5] = [1, 2, 4, 8, 16];

/// Requests that a deployment should hold at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Number of requests.
    pub requests: u32,
    /// Tokens of each, prompt and output together; `None` for the longest request of the model.
    pub tokens: Option<u32>,
}

/// Deployments of a model, and the requests that each holds in memory.
///
/// ```
/// use rooflut::model;
/// use rooflut::table::sets;
/// use rooflut_scenario::{Demand, Engine, Fits, Model, Prices, Server, Target};
///
/// let llama = model::find("llama-3.1-70b").ok_or("not in the catalogue")?;
/// let model = Model::new(llama.name, llama.spec);
/// let demand = Demand { requests: 8, tokens: Some(16_384) };
/// let (target, server, prices) = (Target::default(), Server::default(), Prices::try_built_in()?);
/// let fits = Fits::try_new(&target, &server, &model, &[sets::H100.clone()], &Engine::default(), demand, &prices)?;
/// let smallest = fits.smallest().ok_or("none")?;
/// assert_eq!((smallest.gpu.as_str(), smallest.tp), ("h100", 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fits {
    /// Name of the model.
    pub model: String,
    /// Its size.
    #[serde(flatten)]
    pub size: ModelSize,
    /// Requests that should fit at the same time.
    pub requests: u32,
    /// Tokens of each, prompt and output together.
    pub tokens: u32,
    /// The deployments: of each table set, by ascending tensor parallelism.
    pub deployments: Vec<Fit>,
    /// Remarks on what was given and means something else.
    pub notes: Vec<String>,
    /// Keys of the formats, `dtype` and `kv_dtype`, that have 16 bits: fp8 would take less memory.
    #[serde(skip)]
    pub sixteen_bit: Vec<&'static str>,
}

/// A deployment and its memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fit {
    /// Name of the GPU.
    pub gpu: String,
    /// Tensor parallelism.
    pub tp: u32,
    /// Data-parallel ranks.
    pub dp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Number of GPUs.
    pub gpus: u32,
    /// US dollars per hour of all GPUs; null where their price is not known.
    pub usd_per_hour: Option<f64>,
    /// The missing resource for these requests; null if nothing is missing.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub missing: Option<Missing>,
    /// Its memory; null where not even the weights fit.
    pub holds: Option<Holds>,
    /// Its `vllm serve` command; null where vLLM has no flag for a setting.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub vllm_command: VllmCommand,
}

/// Memory of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Holds {
    /// Bytes of the weights on each GPU.
    pub weight_bytes: f64,
    /// Bytes of the KV blocks on each GPU.
    pub kv_bytes: f64,
    /// KV blocks of all data-parallel ranks.
    pub kv_blocks: u64,
    /// Tokens that the KV blocks hold, in requests of the requested length.
    pub kv_tokens: u64,
    /// Longest request, prompt and output together, tokens.
    pub longest_request: u32,
    /// Requests of the requested length that fit at the same time.
    pub requests: f64,
}

impl Fits {
    /// Places `model` on the GPUs of each of `sets`, with the tensor parallelism of `target` or else with each of 1, 2,
    /// 4, 8 and 16 GPUs that can share the model.
    ///
    /// Does not model: whether the tables have the kernels of the model.
    ///
    /// # Errors
    /// A value out of range, a longer request than the model supports, GPUs that cannot share the model.
    pub fn try_new(
        target: &Target,
        server: &Server,
        model: &Model,
        sets: &[TableSet],
        engine: &Engine,
        demand: Demand,
        prices: &Prices,
    ) -> Result<Fits, Error> {
        Scenario { target: target.clone(), server: server.clone(), ..Scenario::default() }.check()?;
        let longest = model.spec.max_model_len;
        let tokens = demand.tokens.unwrap_or(longest);
        check_count("context", Some(tokens), 1..=longest)?;
        check_count("batch", Some(demand.requests), 1..=u32::MAX)?;
        let mut fits = Fits {
            model: model.name.clone(),
            size: ModelSize::from(&model.clone().with_weights(target.dtype).spec),
            requests: demand.requests,
            tokens,
            deployments: Vec::new(),
            notes: Vec::new(),
            sixteen_bit: Vec::new(),
        };
        let ranks = target.tp.map_or(RANKS.to_vec(), |tp| vec![tp]);
        let mut refused = None;
        for (set, tp) in sets.iter().flat_map(|set| ranks.iter().map(move |tp| (set, *tp))) {
            let target = Target { tp: Some(tp), ..target.clone() };
            match Placement::try_new(&target, model.clone(), set.clone(), engine) {
                Ok(placement) => {
                    let fit = fits.fit(&target, &placement, server, prices)?;
                    if fits.deployments.is_empty() {
                        fits.sixteen_bit = sixteen_bit(&placement, sets);
                        fits.notes = replaced(&placement).chain(placement.notes).collect();
                    }
                    fits.deployments.push(fit);
                }
                Err(error) if error.kind() == Kind::Parallelism => refused = refused.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        match refused.filter(|_| fits.deployments.is_empty()) {
            Some(error) => Err(error),
            None => Ok(fits),
        }
    }

    /// Returns the deployment that holds the requests on the fewest GPUs, and of several the cheapest.
    pub fn smallest(&self) -> Option<&Fit> {
        let usd = |fit: &Fit| fit.usd_per_hour.unwrap_or(f64::INFINITY);
        self.holding().min_by(|a, b| a.gpus.cmp(&b.gpus).then(usd(a).total_cmp(&usd(b))))
    }

    /// Returns the deployment that holds the requests for the fewest US dollars per hour; `None` without a price.
    pub fn cheapest(&self) -> Option<&Fit> {
        let priced = self.holding().filter_map(|fit| Some((fit, fit.usd_per_hour?)));
        let cheapest = priced.min_by(|(_, a), (_, b)| a.total_cmp(b));
        cheapest.map(|(fit, _)| fit)
    }

    fn holding(&self) -> impl Iterator<Item = &Fit> {
        self.deployments.iter().filter(|fit| fit.missing.is_none())
    }

    fn fit(&self, target: &Target, placement: &Placement, server: &Server, prices: &Prices) -> Result<Fit, Error> {
        let (gpu, parallelism) = (placement.tables.gpu(), placement.parallelism);
        let (holds, missing) = match placement.capacity(server) {
            Ok(capacity) => {
                let holds = self.held(&capacity, parallelism.dp);
                (Some(holds), self.missing(&holds, parallelism.dp))
            }
            Err(error) => (None, Some(too_little(error)?)),
        };
        // Kernels of a format that another stands in for are not known on any GPU.
        let is_known = placement.model.replaced.is_none();
        let formats = placement.model.formats().into_iter().filter(|_| is_known);
        let mut unknown = formats.filter(|dtype| gpu.peak_flops_per_s(*dtype).is_none());
        let unknown = unknown.next().map(Missing::Math);
        let gpus = parallelism.gpus();
        let price = prices.of(gpu.name.as_str());
        Ok(Fit {
            gpu: gpu.name.as_str().to_owned(),
            tp: parallelism.tp,
            dp: parallelism.dp,
            pp: parallelism.pp,
            gpus,
            usd_per_hour: price.map(|price| f64::from(gpus) * price.usd_per_gpu_hour),
            missing: unknown.or(missing),
            holds,
            vllm_command: self.command(target, placement, server),
        })
    }

    /// Returns the command of a server with requests of the given length.
    fn command(&self, target: &Target, placement: &Placement, server: &Server) -> VllmCommand {
        let mut server = server.clone();
        if self.tokens < placement.model.spec.max_model_len {
            // vLLM does not start where the KV cache cannot hold one request of the longest length.
            server.max_model_len = Some(self.tokens);
        }
        Scenario { target: target.clone(), server, ..Scenario::default() }.vllm_command(placement.engine)
    }

    fn held(&self, capacity: &Capacity, ranks: u32) -> Holds {
        let memory = capacity.memory();
        Holds {
            weight_bytes: memory.weight_bytes,
            kv_bytes: f64::from(memory.kv_blocks) * memory.bytes_per_block,
            kv_blocks: u64::from(memory.kv_blocks) * u64::from(ranks),
            kv_tokens: capacity.kv_tokens(self.tokens) * u64::from(ranks),
            longest_request: capacity.longest_request(),
            requests: capacity.requests_of(self.tokens) * f64::from(ranks),
        }
    }

    /// Returns what is missing beside the weights. Each of the `ranks` holds whole requests.
    fn missing(&self, holds: &Holds, ranks: u32) -> Option<Missing> {
        if holds.longest_request < self.tokens {
            return Some(Missing::Context);
        }
        let ranks = f64::from(ranks);
        let whole = (holds.requests / ranks).floor() * ranks;
        (whole < f64::from(self.requests)).then_some(Missing::Batch)
    }
}

/// Returns a remark on weights in a format that no kernel has.
fn replaced(placement: &Placement) -> impl Iterator<Item = String> + use<> {
    let dtypes = placement.model.formats();
    let dtype = dtypes.into_iter().find(|dtype| *dtype != Dtype::Bf16);
    let format = placement.model.replaced.clone();
    format.zip(dtype).into_iter().map(|(format, dtype)| {
        format!(
            "{format} count as {dtype}, which takes as much memory; no table has their kernels, so that their times \
             are not known"
        )
    })
}

/// Returns the formats that fp8 can replace, that of the weights only if one of the GPUs computes in it.
fn sixteen_bit(placement: &Placement, sets: &[TableSet]) -> Vec<&'static str> {
    let has_fp8 = |set: &TableSet| set.gpu().peak_flops_per_s(Dtype::Fp8).is_some();
    let weights = !placement.model.spec.is_quantized() && sets.iter().any(has_fp8);
    let entries = placement.kv_dtype == Dtype::Bf16;
    let keys = [("dtype", weights), ("kv_dtype", entries)].into_iter();
    keys.filter_map(|(key, has)| has.then_some(key)).collect()
}

/// Returns how much memory is missing on each GPU.
///
/// # Errors
/// Errors of other kinds.
fn too_little(error: rooflut::Error) -> Result<Missing, Error> {
    match error.kind() {
        ErrorKind::DoesNotFit { needed_bytes: needed, usable_bytes: held }
        | ErrorKind::StatesDoNotFit { needed_bytes: needed, left_bytes: held } => Ok(Missing::Memory(needed - held)),
        _ => Err(library::deployment(error)),
    }
}
