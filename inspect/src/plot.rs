//! todo
/// x
pub fn picture() {}
