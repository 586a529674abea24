//! Writes kernels to a folder: `kernels FOLDER FIRST COUNT` makes `SEED.ptx` and `SEED.json` of each seed.

use ptxopt_generate::kernel;
use ptxopt_generate::options::Options;
use std::fs;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, first, count] = arguments.as_slice() else { panic!("usage: kernels FOLDER FIRST COUNT") };
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let folder = Path::new(folder);
    fs::create_dir_all(folder).expect("the folder can be made");
    for seed in number(first)..number(first) + number(count) {
        let kernel = kernel(seed, &Options::for_seed(seed));
        fs::write(folder.join(format!("{seed}.ptx")), kernel.text()).expect("the folder can be written");
        fs::write(folder.join(format!("{seed}.json")), kernel.launch().to_json())
            .expect("the folder can be written");
    }
}
