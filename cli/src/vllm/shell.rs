//! The commands of a shell script, as far as they can be known without running it.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    /// The part whose value only running the script tells, such as `$(nproc)`.
    pub(super) unknown: Option<String>,
}

/// A command and the line that it begins on, from 1.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) words: Vec<Word>,
    pub(super) line: u64,
}

/// Values of variables; `None` for those that only running the script tells.
pub(super) type Variables = HashMap<String, Option<String>>;

/// Words that begin and end what may run or not, or more than once.
const OPENING: [&str; 5] = ["if", "for", "while", "until", "case"];
const CLOSING: [&str; 3] = ["fi", "done", "esac"];
/// Words that a command may follow.
const BEFORE_COMMANDS: [&str; 9] = ["then", "else", "elif", "do", "!", "{", "export", "local", "readonly"];

/// Stands for the value of a word whose quote is not closed.
pub(super) const UNCLOSED: &str = "a quote that is not closed";

/// Maximum number of bytes that variables add to a script, and of scripts inside one another.
const MAX_EXPANDED: usize = 1 << 20;
const MAX_DEPTH: u32 = 8;

/// Returns the commands of a script in their order, with the values of variables in place of their names.
pub(super) fn commands(script: &str, variables: Variables) -> Vec<Command> {
    nested(script, variables, 0)
}

fn nested(script: &str, variables: Variables, level: u32) -> Vec<Command> {
    let mut reader = Reader {
        rest: script.chars().peekable(),
        line: 1,
        variables,
        depth: 0,
        level,
        expanded: 0,
        commands: Vec::new(),
        command: Command::default(),
    };
    reader.read();
    reader.commands
}

struct Reader<'s> {
    rest: Peekable<Chars<'s>>,
    line: u64,
    variables: Variables,
    /// The number of conditions and loops around the command.
    depth: u32,
    /// The number of scripts around it.
    level: u32,
    /// Bytes that variables have added.
    expanded: usize,
    commands: Vec<Command>,
    command: Command,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(&next) = self.rest.peek() {
            match next {
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    self.next();
                    self.end_command();
                }
                c if c.is_whitespace() => {
                    self.next();
                }
                '#' => while self.rest.next_if(|c| *c != '\n').is_some() {},
                '<' | '>' => self.redirect(),
                _ => self.word(),
            }
        }
        self.end_command();
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += u64::from(next == Some('\n'));
        next
    }

    /// Leaves out a redirection and its file.
    fn redirect(&mut self) {
        while self.rest.next_if(|c| matches!(c, '<' | '>' | '&' | ' ')).is_some() {}
        let before = self.command.words.len();
        self.word();
        self.command.words.truncate(before);
    }

    /// Reads a word; a variable without quotes may hold several, or none.
    fn word(&mut self) {
        if self.command.words.is_empty() {
            self.command.line = self.line;
        }
        let mut word = Word::default();
        let mut is_quoted = false;
        while let Some(&next) = self.rest.peek() {
            match next {
                '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' => {
                    // The number of a file.
                    if word.text.chars().all(|c| c.is_ascii_digit()) {
                        word = Word::default();
                    }
                    break;
                }
                c if c.is_whitespace() => break,
                '\\' => {
                    self.next();
                    match self.next() {
                        // A line that is continued may end the word.
                        Some('\n') if word == Word::default() && !is_quoted => return,
                        Some('\n') | None => (),
                        Some(c) => word.text.push(c),
                    }
                }
                '\'' => {
                    is_quoted = true;
                    self.next();
                    loop {
                        match self.next() {
                            Some('\'') => break,
                            Some(c) => word.text.push(c),
                            None => {
                                word.unknown = Some(UNCLOSED.to_owned());
                                break;
                            }
                        }
                    }
                }
                '"' => {
                    is_quoted = true;
                    self.next();
                    self.quoted(&mut word);
                }
                '$' | '`' => {
                    let mut value = Word::default();
                    self.expand(&mut value);
                    word.unknown = word.unknown.or(value.unknown);
                    self.split(&mut word, &value.text);
                }
                c => {
                    self.next();
                    word.text.push(c);
                }
            }
        }
        if is_quoted || word != Word::default() {
            self.command.words.push(word);
        }
    }

    /// Adds the value of a variable without quotes, whose spaces end words.
    fn split(&mut self, word: &mut Word, value: &str) {
        let mut parts = value.split_whitespace();
        let starts_apart = value.starts_with(char::is_whitespace);
        if starts_apart && *word != Word::default() {
            self.command.words.push(std::mem::take(word));
        }
        word.text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            self.command.words.push(std::mem::take(word));
            word.text.push_str(part);
        }
    }

    /// Reads up to the end of double quotes.
    fn quoted(&mut self, word: &mut Word) {
        while let Some(&next) = self.rest.peek() {
            match next {
                '"' => {
                    self.next();
                    return;
                }
                '$' | '`' => self.expand(word),
                '\\' => {
                    self.next();
                    match self.next() {
                        Some('\n') | None => (),
                        Some(c @ ('"' | '\\' | '$' | '`')) => word.text.push(c),
                        Some(c) => word.text.extend(['\\', c]),
                    }
                }
                c => {
                    self.next();
                    word.text.push(c);
                }
            }
        }
        word.unknown = Some(UNCLOSED.to_owned());
    }

    /// Reads `$NAME`, `${NAME:-DEFAULT}` and the like, or what only a shell can answer.
    fn expand(&mut self, word: &mut Word) {
        let first = self.next();
        let mut text: String = first.into_iter().collect();
        match (first, self.rest.peek()) {
            (Some('`'), _) => self.until('`', None, &mut text),
            (_, Some('(')) => self.until(')', Some('('), &mut text),
            (_, Some('{')) => {
                self.until('}', Some('{'), &mut text);
                let inner = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')).unwrap_or_default();
                return self.parameter(word, inner, &text);
            }
            (_, Some(c)) if c.is_ascii_alphabetic() || *c == '_' => {
                while let Some(c) = self.rest.next_if(|c| is_name(*c)) {
                    text.push(c);
                }
                let name = text.strip_prefix('$').unwrap_or_default();
                return self.parameter(word, name, &text);
            }
            (_, Some('@' | '*' | '#' | '?' | '$' | '!' | '0'..='9')) => text.extend(self.next()),
            // A dollar sign by itself.
            _ => return word.text.push('$'),
        }
        word.unknown.get_or_insert(text);
    }

    /// Adds the value of `NAME`, `NAME:-DEFAULT` or `NAME-DEFAULT`; `shown` is how the script writes it.
    fn parameter(&mut self, word: &mut Word, inner: &str, shown: &str) {
        let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
        let (name, operator) = inner.split_at(end);
        let default = [":-", "-", ":="].into_iter().find_map(|sign| operator.strip_prefix(sign));
        let value = match (self.variables.get(name), default) {
            (Some(Some(value)), _) if operator.is_empty() || (default.is_some() && !value.is_empty()) => {
                Word { text: value.clone(), unknown: None }
            }
            (None | Some(Some(_)), Some(default)) if self.level < MAX_DEPTH => {
                let values = nested(&format!("\"{default}\""), self.variables.clone(), self.level + 1);
                values.into_iter().flat_map(|command| command.words).next().unwrap_or_default()
            }
            _ => Word { text: String::new(), unknown: Some(shown.to_owned()) },
        };
        self.expanded += value.text.len();
        if self.expanded <= MAX_EXPANDED {
            word.text.push_str(&value.text);
            word.unknown = word.unknown.take().or(value.unknown);
        } else {
            word.unknown.get_or_insert(shown.to_owned());
        }
    }

    /// Reads up to `end`, with pairs of `open` and `end` inside.
    fn until(&mut self, end: char, open: Option<char>, text: &mut String) {
        let mut depth = 0;
        while let Some(c) = self.next() {
            text.push(c);
            depth += i32::from(Some(c) == open) - i32::from(c == end);
            if c == end && depth <= 0 {
                return;
            }
        }
    }

    /// Ends a command: notes its assignments, and keeps its other words.
    fn end_command(&mut self) {
        let Command { words, line } = std::mem::take(&mut self.command);
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next_if(|word| self.is_before_command(word)) {
            let text = word.text.as_str();
            self.depth += u32::from(OPENING.contains(&text));
            self.depth = self.depth.saturating_sub(u32::from(CLOSING.contains(&text)));
            if let Some((name, value)) = assignment(&word) {
                let is_known = word.unknown.is_none() && self.depth == 0;
                self.variables.insert(name.to_owned(), is_known.then(|| value.to_owned()));
            }
        }
        let words: Vec<Word> = words.collect();
        if !words.is_empty() {
            self.commands.push(Command { words, line });
        }
    }

    fn is_before_command(&self, word: &Word) -> bool {
        let text = word.text.as_str();
        let lists = [&OPENING[..], &CLOSING, &BEFORE_COMMANDS];
        lists.iter().any(|list| list.contains(&text)) || assignment(word).is_some()
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns name and value of `NAME=VALUE`.
fn assignment(word: &Word) -> Option<(&str, &str)> {
    let (name, value) = word.text.split_once('=')?;
    let is_named = name.chars().all(is_name) && name.starts_with(|c: char| !c.is_ascii_digit());
    is_named.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands with `?` for words that are not known.
    fn read(script: &str) -> Vec<String> {
        let shown = |word: &Word| word.unknown.as_ref().map_or(word.text.clone(), |_| "?".to_owned());
        let line = |command: &Command| command.words.iter().map(shown).collect::<Vec<_>>().join("|");
        commands(script, Variables::new()).iter().map(line).collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        for (script, expected) in [
            ("vllm serve a\\\n  -tp 2 # two\n", &["vllm|serve|a|-tp|2"][..]),
            ("vllm serve \\\n  a \\\n  -tp 2", &["vllm|serve|a|-tp|2"]),
            ("a 'b c' \"d \\\" e\" f\\ g", &["a|b c|d \" e|f g"]),
            ("a '{\"b\": 1}' > log 2>&1 &\nb", &["a|{\"b\": 1}", "b"]),
            ("A=1 B='x y'\nc $A $B \"$B\" ${C:-3} \"${D:-$A}\"", &["c|1|x|y|x y|3|1"]),
            ("set -e; export A=2 && exec c --a=$A", &["set|-e", "exec|c|--a=2"]),
            ("c \"$@\" $(nproc) `nproc` $X ${X} $", &["c|?|?|?|?|?|$"]),
            ("if [ -n \"$1\" ]; then A=1; fi\nc $A", &["[|-n|?|]", "c|?"]),
            ("a ${A:-${B:-2}} \"${A:-b c}\"", &["a|2|b c"]),
            ("A=\"-x 1\"; A=\"$A -y\"; c $A ''", &["c|-x|1|-y|"]),
        ] {
            assert_eq!(read(script), expected, "{script}");
        }
    }

    #[test]
    fn variables_that_grow_without_end_are_not_known() {
        let doubling = "A=x; ".to_owned() + &"A=\"$A$A\"; ".repeat(60) + "c $A";
        assert_eq!(read(&doubling), ["c|?"]);
        let deep = format!("c {}x{}", "${A:-".repeat(10_000), "}".repeat(10_000));
        assert_eq!(read(&deep), ["c|?"]);
    }

    #[test]
    fn commands_have_their_lines() {
        let commands = commands("# a\n\nb \\\n c\nd", Variables::new());
        assert_eq!(commands.iter().map(|command| command.line).collect::<Vec<_>>(), [3, 5]);
    }
}
