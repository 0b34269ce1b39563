//! `corpus unpack|pack TARGET FOLDER`: the kept inputs of a target as the files that libFuzzer wants, and back. `corpus
//! try TARGET [FOLDER]` tries them, or the files of a folder.

use std::path::Path;
use std::{env, error::Error, fs};

use rooflut_fuzz::corpus;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [action, target] = arguments.as_slice()
        && action == "try"
    {
        corpus::kept(env!("CARGO_MANIFEST_DIR"), target).iter().for_each(|input| rooflut_fuzz::target(target, input));
        return Ok(());
    }
    let read = |folder: &Path| fs::read_dir(folder)?.map(|file| fs::read(file?.path())).collect::<Result<Vec<_>, _>>();
    let [action, target, folder] = arguments.as_slice() else {
        return Err("usage: corpus unpack|pack TARGET FOLDER, corpus try TARGET [FOLDER]".into());
    };
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{target}.txt"));
    let folder = Path::new(folder);
    match action.as_str() {
        "unpack" => {
            fs::create_dir_all(folder)?;
            let inputs = corpus::unpack(&fs::read_to_string(&kept)?)
                .map_err(|line| format!("{}:{line}: bad escape", kept.display()))?;
            for (index, input) in inputs.iter().enumerate() {
                fs::write(folder.join(format!("kept-{index}")), input)?;
            }
        }
        "pack" => fs::write(kept, corpus::pack(read(folder)?))?,
        "try" => read(folder)?.iter().for_each(|input| rooflut_fuzz::target(target, input)),
        other => return Err(format!("{other}: expected unpack, pack or try").into()),
    }
    Ok(())
}
