//! Block ids against tokens one by one.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// A token, identified by its text and its position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Unique { index: usize, at: u32 },
    Prefix { text: u64, at: u32 },
    Own { text: u64, at: u32 },
    Listed { choice: u64, at: u32 },
}

/// A request and, for blocks of a trace, which of a few continuations each of its ids is.
type Case = (Request, Vec<u64>);

/// Returns the first `len` tokens.
fn tokens((request, choices): &Case, index: usize, len: u32, per_id: u32) -> Vec<Token> {
    (0..len)
        .map(|at| match request.content {
            Content::Texts { prefix, prefix_tokens, own } => {
                let cut = prefix_tokens.min(request.prompt_tokens);
                if at < cut {
                    Token::Prefix { text: prefix, at }
                } else {
                    let at = at - cut;
                    Token::Own { text: own, at }
                }
            }
            Content::TraceBlocks { .. } if at < request.prompt_tokens && per_id > 0 => {
                match choices.get((at / per_id) as usize) {
                    Some(&choice) => Token::Listed { choice, at },
                    None => Token::Unique { index, at },
                }
            }
            _ => Token::Unique { index, at },
        })
        .collect()
}

/// Returns the list of ids and sets the requests' positions in it. An id is its path from the start.
fn listed(cases: &mut [Case]) -> Vec<u64> {
    let mut ids = Vec::new();
    for (request, choices) in cases {
        if let Content::TraceBlocks { first, count } = &mut request.content {
            (*first, *count) = (ids.len() as u32, choices.len() as u32);
            ids.extend(choices.iter().scan(0, |path, choice| {
                *path = *path * 3 + choice + 1;
                Some(*path)
            }));
        }
    }
    ids
}

fn case() -> impl Strategy<Value = Case> {
    let texts = (0..2_u64, 0..40_u32, 0..2_u64);
    let content = prop_oneof![
        Just(Content::Unique),
        Just(Content::TraceBlocks { first: 0, count: 0 }),
        texts.prop_map(|(prefix, prefix_tokens, own)| Content::Texts { prefix, prefix_tokens, own }),
    ];
    (1..50_u32, content, prop::collection::vec(0..2_u64, 0..4)).prop_map(|(prompt_tokens, content, choices)| {
        let request = Request { prompt_tokens, content, ..Request::default() };
        (request, choices)
    })
}

proptest! {
    #[test]
    fn ids_are_the_same_exactly_where_all_tokens_so_far_are(
        mut cases in prop::collection::vec(case(), 1..8),
        block_size in 1..9_u32,
        per_id in 0..20_u32,
    ) {
        let all = listed(&mut cases);
        let trace = TraceIds { ids: &all, tokens: per_id };
        let blocks = 60 / block_size;
        let views: Vec<_> = cases.iter().enumerate().map(|(index, case)| {
            let ids = BlockIds::new(&case.0, index, block_size, trace);
            (ids, tokens(case, index, blocks * block_size, per_id))
        }).collect();
        for (index, (a, a_tokens)) in views.iter().enumerate() {
            for (other, (b, b_tokens)) in views.iter().enumerate() {
                for block in 0..blocks {
                    let end = ((block + 1) * block_size) as usize;
                    let agree = a_tokens[..end] == b_tokens[..end];
                    prop_assert_eq!(a.id(block) == b.id(block), agree, "{} {}", index, other);
                }
            }
        }
    }
}

fn texts(prefix: u64, prefix_tokens: u32, own: u64) -> Request {
    Request { prompt_tokens: u32::MAX, content: Content::Texts { prefix, prefix_tokens, own }, ..Request::default() }
}

#[test]
fn a_million_ids_of_regular_texts_are_all_different() {
    let ids = |request: &Request, index, blocks| {
        let ids = BlockIds::new(request, index, 16, TraceIds::default());
        (0..blocks).map(move |block| ids.id(block))
    };
    let mut all = Vec::new();
    for text in 0..1_000 {
        all.extend(ids(&texts(text, u32::MAX, 0), 0, 300));
        all.extend(ids(&texts(text, 0, text), 0, 200));
        all.extend(ids(&texts(0, 8, text), 0, 200));
        all.extend(ids(&Request::default(), text as usize, 300));
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!((count, all.len()), (1_000_000, 1_000_000));
}

#[test]
fn the_last_block_and_lists_that_end_early_have_ids() {
    let long = BlockIds::new(&texts(1, u32::MAX, 1), 0, 1, TraceIds::default());
    assert_ne!(long.id(u32::MAX - 1), long.id(u32::MAX));
    let request = Request {
        prompt_tokens: u32::MAX,
        content: Content::TraceBlocks { first: 1, count: u32::MAX },
        ..Request::default()
    };
    let trace = TraceIds { ids: &[5, 6], tokens: 512 };
    let ids = BlockIds::new(&request, 0, 16, trace);
    let none = BlockIds::new(&request, 0, 0, TraceIds { ids: &[5], tokens: u32::MAX });
    assert_ne!(none.id(0), ids.id(0));
}
