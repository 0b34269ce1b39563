//! The layers of pipeline stages.

use super::{Ffn, LayerGroup, Layers, ModelSpec};

impl ModelSpec {
    /// Returns the layers of each of `pp` pipeline stages, in order; `pp` is at least 1 and at most the number of
    /// layers ([`check_parallelism`](ModelSpec::check_parallelism)).
    ///
    /// All stages have the same number of layers or one more. The remainder goes to the stages before the last stage,
    /// because the last stage also projects to the vocabulary (`get_pp_indices` in `vllm/distributed/utils.py`).
    ///
    /// Assumes: dense layers come first in a model with more expert layers; otherwise groups of layers alternate, so
    /// each stage has its share of each group.
    ///
    /// Does not model: `VLLM_PP_LAYER_PARTITION`.
    ///
    /// ```
    /// use rooflut::model;
    /// let deepseek = model::find("deepseek-v3").unwrap().spec;
    /// let stages = deepseek.stages(4).map(|stage| (stage.len(), stage.total()));
    /// // The first has the three dense layers.
    /// assert_eq!(stages.collect::<Vec<_>>(), [(2, 15), (1, 15), (1, 16), (1, 15)]);
    /// ```
    pub fn stages(&self, pp: u32) -> impl Iterator<Item = Layers> {
        let total = self.layers.total();
        let [even, remainder] = [total / pp.max(1), total % pp.max(1)];
        let mut rest = Rest::of(&self.layers);
        (0..pp).map(move |stage| {
            let from_last = pp - 1 - stage;
            let one_more = (1..=remainder).contains(&from_last);
            rest.take(even + u32::from(one_more))
        })
    }
}

/// The layers that no stage has yet.
struct Rest {
    layers: Layers,
    taken: [u32; Layers::MAX_GROUPS],
}

impl Rest {
    fn of(layers: &Layers) -> Rest {
        Rest { layers: *layers, taken: [0; Layers::MAX_GROUPS] }
    }

    /// Takes the next `count` layers.
    fn take(&mut self, count: u32) -> Layers {
        let before = self.taken;
        for _ in 0..count {
            if let Some(taken) = self.next().and_then(|group| self.taken.get_mut(group)) {
                *taken += 1;
            }
        }
        let taken = self.taken.iter().zip(before);
        let counts = taken.map(|(after, before)| after - before);
        let groups = self.layers.iter().zip(counts).map(|(group, layers)| LayerGroup { layers, ..*group });
        let mut own = groups.filter(|group| group.layers > 0);
        let none = || LayerGroup { layers: 0, ..*self.layers.first() };
        let first = Layers::alike(own.next().unwrap_or_else(none));
        own.fold(first, Layers::and)
    }

    /// Returns the index of the group of the next layer: that of leading layers as long as there are some, then the
    /// group of which the fewest layers are taken for its size.
    fn next(&self) -> Option<usize> {
        let groups = || self.layers.iter().zip(self.taken).enumerate();
        let left = |(_, (group, taken)): &(usize, (&LayerGroup, u32))| *taken < group.layers;
        let leads = |(_, (group, _)): &(usize, (&LayerGroup, u32))| is_leading(group, &self.layers);
        let leading = groups().filter(left).find(leads);
        let progress = |(group, taken): (&LayerGroup, u32)| {
            // Half a layer more: short groups lie in the middle of their share.
            (f64::from(taken) + 0.5) / f64::from(group.layers)
        };
        let least = groups().filter(left).min_by(|(_, one), (_, other)| progress(*one).total_cmp(&progress(*other)));
        let (group, _) = leading.or(least)?;
        Some(group)
    }
}

/// Returns whether a group is dense and comes before layers with experts, which are more.
fn is_leading(group: &LayerGroup, layers: &Layers) -> bool {
    let is_dense = |group: &LayerGroup| matches!(group.ffn, Ffn::Dense { .. });
    let count = |dense: bool| -> u32 {
        let of_kind = layers.iter().filter(|group| is_dense(group) == dense);
        of_kind.map(|group| group.layers).sum()
    };
    is_dense(group) && count(true) < count(false)
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use crate::model::{CATALOG, find};

    fn totals(name: &str, pp: u32) -> Vec<u32> {
        let spec = find(name).unwrap().spec;
        spec.stages(pp).map(|stage| stage.total()).collect()
    }

    /// Source: `get_pp_indices` in vLLM 0.15.1.
    #[test]
    fn the_remainder_goes_to_the_stages_before_the_last() {
        assert_eq!(totals("llama-3.1-8b", 1), [32]);
        assert_eq!(totals("llama-3.1-8b", 4), [8; 4]);
        assert_eq!(totals("llama-3.1-8b", 5), [6, 6, 7, 7, 6]);
        assert_eq!(totals("deepseek-v3", 2), [31, 30]);
        assert_eq!(totals("llama-3.1-8b", 32), [1; 32]);
    }

    #[test]
    fn stages_have_all_layers_once() {
        for entry in CATALOG {
            let layers = entry.spec.layers;
            for pp in 1..=layers.total().min(16) {
                let stages: Vec<_> = entry.spec.stages(pp).collect();
                assert_eq!(stages.len(), pp as usize);
                for group in layers.iter() {
                    let alike = stages
                        .iter()
                        .flat_map(|stage| stage.iter())
                        .filter(|other| (other.attention, other.ffn) == (group.attention, group.ffn));
                    let count: u32 = alike.map(|other| other.layers).sum();
                    assert_eq!(count, group.layers, "{} pp {pp}", entry.name);
                }
            }
        }
    }

    #[test]
    fn groups_alternate_unless_dense_layers_lead() {
        let stages = |name: &str, pp| -> Vec<Vec<u32>> {
            let spec = find(name).unwrap().spec;
            let counts = |stage: crate::model::Layers| stage.iter().map(|of| of.layers).collect();
            spec.stages(pp).map(counts).collect()
        };
        assert_eq!(stages("deepseek-v3", 2), [vec![3, 28], vec![30]]);
        assert_eq!(stages("gpt-oss-20b", 3), vec![vec![4, 4]; 3]);
        // A layer in six attends to all tokens: it is in the middle of six, not the first.
        assert_eq!(stages("gemma-3-27b", 31)[..3], [vec![2], vec![1, 1], vec![2]]);
        for stage in stages("gemma-3-27b", 4) {
            assert!((2..=3).contains(&stage[1]) || (2..=3).contains(&stage[0]), "{stage:?}");
        }
    }
}
