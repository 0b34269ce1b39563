//! A crate with `rooflut::tables!` is recompiled when one of its measurements changes.

mod support;

use support::{UserCrate, fixture};

const MAIN: &str = r#"fn main() {
    let set = rooflut::tables!("data/my-set");
    let set = set.version(set.versions().last());
    let gemm = set.gemm().unwrap().entries().next().unwrap();
    println!("{} {} {:?}", set.name(), set.gpu().name, gemm.points.latency_us());
}
"#;

#[test]
#[ignore = "slow: compiles the library for a user's crate"]
fn when_a_file_of_the_set_changes() {
    let user = UserCrate::new("recompiles");
    user.write("src/main.rs", MAIN);
    let set_toml = fixture("tests/fixtures/own-gpu/set.toml");
    user.write("data/my-set/set.toml", &set_toml);
    user.write("data/my-set/gemm.csv", &fixture("tests/fixtures/own-gpu/gemm.csv"));
    assert_eq!(user.run(), "own-gpu toy [12.5]\n");

    let gemm = "dtype,k,n,m,latency_us\nbf16,1024,1024,16,13.5\n";
    user.write("data/my-set/gemm.csv", gemm);
    assert_eq!(user.run(), "own-gpu toy [13.5]\n");

    let renamed = set_toml.replace("\"own-gpu\"", "\"renamed\"");
    user.write("data/my-set/set.toml", &renamed);
    assert_eq!(user.run(), "renamed toy [13.5]\n");

    // A set in a single file.
    user.remove("data/my-set");
    let file = |gemm| format!("==> set.toml <==\n{set_toml}\n==> gemm.csv <==\n{gemm}");
    user.write("data/my-set", &file(gemm));
    assert_eq!(user.run(), "own-gpu toy [13.5]\n");
    user.write("data/my-set", &file(&gemm.replace("13.5", "14.5")));
    assert_eq!(user.run(), "own-gpu toy [14.5]\n");

    // The rows of another engine version.
    user.remove("data/my-set");
    for (file, text) in [("set.toml", &*set_toml), ("gemm.csv", gemm), ("toy-2/set.toml", &set_toml)] {
        user.write(&format!("data/my-set/{file}"), text);
    }
    for latency_us in ["15.5", "16.5"] {
        user.write("data/my-set/toy-2/gemm.csv", &gemm.replace("13.5", latency_us));
        assert_eq!(user.run(), format!("own-gpu toy [{latency_us}]\n"));
    }
}
