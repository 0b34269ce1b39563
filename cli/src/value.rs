//! Parsers of argument values.

use rooflut::step::{Chunk, DecodeGroup};
use rooflut_codegen::OperationKind;
use rooflut_scenario::whole;

pub fn operation(text: &str) -> Result<OperationKind, String> {
    OperationKind::from_name(text)
        .ok_or_else(|| format!("expected one of {}", OperationKind::ALL.map(OperationKind::name).join(", ")))
}

/// Parses `NEW[@CONTEXT]`, a prompt chunk whose last token is sampled.
pub(crate) fn chunk(text: &str) -> Result<Chunk, String> {
    let (new, context) = text.split_once('@').unwrap_or((text, "0"));
    let lengths = positive::<u32>(new).ok().zip(whole::<u32>(context).ok());
    lengths.and_then(|(new, context)| Chunk::last(new, context.checked_add(new)?).ok()).ok_or_else(|| {
        "expected NEW[@CONTEXT], new tokens (at least 1) and tokens already cached, as in 512 \
             or 512@2048"
            .to_owned()
    })
}

/// Parses `REQUESTSxKV`: requests of one KV length.
pub(crate) fn decode_group(text: &str) -> Result<DecodeGroup, String> {
    text.split_once(['x', 'X'])
        .and_then(|(requests, kv_len)| DecodeGroup::uniform(whole(requests).ok()?, whole(kv_len).ok()?).ok())
        .ok_or_else(|| {
            "expected REQUESTSxKV, both from 1 to 4_294_967_295: requests and the KV length of each with \
             its new token, as in 64x1000"
                .to_owned()
        })
}

/// Parses a whole number of at least 1.
pub(crate) fn positive<T: TryFrom<u64> + Into<u64> + Copy>(text: &str) -> Result<T, String> {
    match whole::<T>(text) {
        Ok(number) if number.into() > 0 => Ok(number),
        Ok(_) => Err("expected at least 1, found 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_and_groups_are_read_as_documented() {
        assert_eq!(chunk("512").ok(), Chunk::prompt(512).ok());
        assert_eq!(chunk("64@1000").ok(), Chunk::last(64, 1064).ok());
        assert_eq!(decode_group("64x1000").unwrap().kv_tokens(), 64_000);
        for wrong in ["", "0", "-1", "5@", "@5", "5@-1", "1.5", "1@4294967295"] {
            assert!(chunk(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "64", "0x5", "5x0", "x", "5x-1", "5x5x5"] {
            assert!(decode_group(wrong).is_err(), "{wrong}");
        }
    }
}
