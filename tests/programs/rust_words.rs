// SPDX-License-Identifier: MIT
// rust_words [NR]: counts NR (2,000,000) made-up words: hash maps and strings, some time in one function.
use std::collections::HashMap;

#[inline(never)]
fn count(rounds: u64) -> HashMap<String, u64> {
    let mut words = HashMap::new();
    let mut state = 1u64;
    for _ in 0..rounds {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *words.entry(format!("word{}", (state >> 33) % 5000)).or_insert(0) += 1;
    }
    words
}

fn main() {
    let nr = std::env::args().nth(1).and_then(|nr| nr.parse().ok());
    let words = count(nr.unwrap_or(2_000_000));
    let mut most: Vec<_> = words.iter().collect();
    most.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (word, times) in most.iter().take(3) {
        println!("{word} {times}");
    }
}
