use ptxopt::{Options, optimize};
use std::hint::black_box;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[1].parse().unwrap();
    let texts: Vec<Vec<u8>> = args[2..].iter().map(|f| std::fs::read(f).unwrap()).collect();
    let options = Options::default();
    for t in &texts {
        let _ = black_box(optimize(t, &options));
    }
    let t0 = std::time::Instant::now();
    for i in 0..n {
        let _ = black_box(optimize(black_box(&texts[i % texts.len()]), &options));
    }
    println!("{:.2} us", t0.elapsed().as_secs_f64() * 1e6 / n as f64);
}
