//! The sizes of packages.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

use crate::tokens::Tokens;

/// Folders without production code.
const LEFT_OUT: [&str; 4] = ["tests", "benches", "examples", "fuzz"];

/// The size of production code.
#[derive(Debug, Default)]
pub(crate) struct Size {
    pub(crate) tokens: u64,
    /// Lines of its files, comments and unit tests included.
    lines: u64,
    files: u64,
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        self.tokens += other.tokens;
        self.lines += other.lines;
        self.files += other.files;
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8} {:>8} {:>6}", self.tokens, self.lines, self.files)
    }
}

/// Returns the sizes of the packages below a folder, by the folder of each.
pub(crate) fn sizes(root: &Path) -> Result<BTreeMap<String, Size>, Box<dyn Error>> {
    let mut counted = Vec::new();
    let mut tests = BTreeSet::new();
    for path in sources(root)? {
        let text = fs::read_to_string(&path)?;
        let tokens = Tokens::of(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        tests.extend(tokens.test_modules.iter().flat_map(|name| module(&path, name)));
        counted.push((path, tokens.count, text.lines().count() as u64));
    }
    // The file of a test module, or a file of its folder.
    counted.retain(|(path, ..)| !path.ancestors().any(|folder| tests.contains(folder)));
    let mut sizes = BTreeMap::<String, Size>::new();
    for (path, tokens, lines) in counted {
        let package = path
            .ancestors()
            .find(|folder| folder.join("Cargo.toml").exists())
            .unwrap_or(root)
            .strip_prefix(root)?
            .display()
            .to_string();
        let package = if package.is_empty() { ".".to_owned() } else { package };
        *sizes.entry(package).or_default() += Size { tokens, lines, files: 1 };
    }
    Ok(sizes)
}

/// Returns the Rust files of production code that git knows or would add.
fn sources(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let listed = Command::new("git")
        .args(["-C", root.to_str().ok_or("the path of the repository is not UTF-8")?, "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard", "--", "*.rs"])
        .output()?;
    if !listed.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr)).into());
    }
    let names = String::from_utf8(listed.stdout)?;
    let is_production = |path: &&str| !path.split('/').any(|folder| LEFT_OUT.contains(&folder));
    let files = names.split_terminator('\0').filter(is_production).map(|path| root.join(path));
    // A file that was removed but not yet committed.
    Ok(files.filter(|path| path.exists()).collect())
}

/// Returns the file and the folder of a module that the file `parent` declares.
fn module(parent: &Path, name: &str) -> [PathBuf; 2] {
    let folder = match parent.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") => parent.with_file_name(""),
        _ => parent.with_extension(""),
    };
    [folder.join(format!("{name}.rs")), folder.join(name)]
}
