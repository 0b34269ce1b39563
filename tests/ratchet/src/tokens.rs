//! The tokens of production code.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};

/// The tokens of a file except comments, documentation and tests.
///
/// An identifier, a literal, a delimiter and each character of an operator is a token. An item with `#[test]` or a `#[cfg]` that holds
/// only in tests is left out, up to its semicolon or its braces; fields and variants with such attributes are not
/// recognized.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tokens {
    pub(crate) count: u64,
    /// Modules for tests that are files of their own.
    pub(crate) test_modules: Vec<String>,
}

impl Tokens {
    /// Counts the tokens of a file.
    pub(crate) fn of(text: &str) -> Result<Tokens, LexError> {
        let mut tokens = Tokens::default();
        tokens.add(text.parse()?);
        Ok(tokens)
    }

    fn add(&mut self, stream: TokenStream) {
        let mut stream = stream.into_iter().peekable();
        while let Some(token) = stream.next() {
            if is(&token, '#') {
                // `!` of an attribute of the item around.
                let inner = stream.next_if(|token| is(token, '!'));
                let Some(attribute) = stream.next_if(is_brackets) else {
                    self.count += 1 + u64::from(inner.is_some());
                    continue;
                };
                match Attribute::of(&attribute) {
                    Attribute::Documentation => {}
                    Attribute::Test if inner.is_some() => return,
                    Attribute::Test => self.test_modules.extend(skip_item(&mut stream)),
                    Attribute::Other => {
                        self.count += 1 + u64::from(inner.is_some());
                        self.add(TokenStream::from(attribute));
                    }
                }
                continue;
            }
            match token {
                TokenTree::Group(group) => {
                    self.count += if group.delimiter() == Delimiter::None { 0 } else { 2 };
                    self.add(group.stream());
                }
                // The quote of a lifetime belongs to its name.
                TokenTree::Punct(punct) => self.count += u64::from(punct.as_char() != '\''),
                TokenTree::Ident(_) | TokenTree::Literal(_) => self.count += 1,
            }
        }
    }
}

enum Attribute {
    Documentation,
    Test,
    Other,
}

impl Attribute {
    fn of(brackets: &TokenTree) -> Attribute {
        let tokens = inside(brackets);
        match tokens.as_slice() {
            [name, equals, ..] if is_word(name, "doc") && is(equals, '=') => Attribute::Documentation,
            [name] if is_word(name, "test") => Attribute::Test,
            [name, condition] if is_word(name, "cfg") && is_test(&inside(condition)) => Attribute::Test,
            _ => Attribute::Other,
        }
    }
}

/// Whether a condition of a `cfg` holds only in tests.
fn is_test(condition: &[TokenTree]) -> bool {
    let operands = || {
        let operands = condition.get(1).map(inside).unwrap_or_default();
        let operands: Vec<Vec<TokenTree>> = operands.split(|token| is(token, ',')).map(<[TokenTree]>::to_vec).collect();
        operands.into_iter().filter(|operand| !operand.is_empty())
    };
    match condition.first() {
        Some(name) if is_word(name, "test") || is_word(name, "doctest") => true,
        Some(name) if is_word(name, "all") => operands().any(|operand| is_test(&operand)),
        Some(name) if is_word(name, "any") => operands().all(|operand| is_test(&operand)),
        _ => false,
    }
}

/// Skips an item, and returns its name if it is a module in a file of its own.
fn skip_item(stream: &mut Peekable<IntoIter>) -> Option<String> {
    let mut words = Vec::new();
    for token in stream.by_ref() {
        match &token {
            TokenTree::Ident(word) => words.push(word.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == ';' => {
                let module = words.iter().position(|word| word == "mod")?;
                return words.into_iter().nth(module + 1);
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
            _ => {}
        }
    }
    // As after `use a::{b, c}`.
    stream.next_if(|token| is(token, ';'));
    None
}

fn inside(token: &TokenTree) -> Vec<TokenTree> {
    match token {
        TokenTree::Group(group) => group.stream().into_iter().collect(),
        _ => Vec::new(),
    }
}

fn is(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

fn is_brackets(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, count: u64) {
        assert_eq!(Tokens::of(text).unwrap().count, count, "{text}");
    }

    #[test]
    fn comments_and_documentation_are_not_counted() {
        check("fn a<'x>(b: &'x [u8]) -> u8 { b[0] }", 23);
        check("//! A.\n/* b */ /// C.\nfn a() {} // D.", 6);
        check("/// A.\nfn a() {}\n#[doc = include_str!(\"a\")] fn b() {}", 12);
        check("#[doc(hidden)] fn a() {}", 6 + 7);
        check("#![no_std] macro_rules! a { ($b:expr) => { #[doc = $b] fn c() {} } }", 5 + 21);
    }

    #[test]
    fn items_for_tests_are_not_counted() {
        check("#[cfg(test)] mod tests { fn a() {} } fn b() {}", 6);
        check("#[cfg(all(test, feature = \"a\"))] use a::{b, c}; fn b() {}", 6);
        check("#[cfg(test)] #[allow(a)] fn a() -> Vec<u8> { vec![] } fn b() {}", 6);
        check("impl A { #[test] fn a() {} fn b() {} }", 10);
        check("#![cfg(test)] fn a() {}", 0);
        check("#[cfg(any(feature = \"a\", test))] fn b() {}", 6 + 14);
        check("#[cfg(not(test))] fn b() {}", 6 + 10);
    }

    #[test]
    fn test_modules_in_files_are_named() {
        let tokens = Tokens::of("#[cfg(test)] pub(crate) mod made_up; mod a;").unwrap();
        let test_modules = vec!["made_up".to_owned()];
        assert_eq!(tokens, Tokens { count: 3, test_modules });
    }
}
