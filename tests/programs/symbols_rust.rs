// SPDX-License-Identifier: MIT
// PFLAGS: -C symbol-mangling-version=v0
//! Names to look up: generics, closures, traits, iterators inlined many levels deep.
use std::collections::{BTreeMap, HashMap};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    Word(String),
    Number(i64),
    Mark(char),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "{word}"),
            Token::Number(number) => write!(f, "{number}"),
            Token::Mark(mark) => write!(f, "{mark}"),
        }
    }
}

trait Visitor {
    type Output;
    fn visit(&mut self, token: &Token) -> Self::Output;
}

struct Counter<'a> {
    seen: HashMap<&'a str, usize>,
    total: usize,
}

impl Visitor for Counter<'_> {
    type Output = usize;
    fn visit(&mut self, token: &Token) -> usize {
        if let Token::Word(word) = token {
            for (known, count) in self.seen.iter_mut() {
                if word.contains(known) {
                    *count += 1;
                }
            }
        }
        self.total += 1;
        self.total
    }
}

fn tokenize(text: &str) -> Vec<Token> {
    text.split_whitespace()
        .map(|part| match part.parse::<i64>() {
            Ok(number) => Token::Number(number),
            Err(_) if part.chars().count() == 1 => Token::Mark(part.chars().next().unwrap()),
            Err(_) => Token::Word(part.to_lowercase()),
        })
        .collect()
}

mod sums {
    use super::Token;

    pub fn fold<T, F: Fn(&Token) -> Option<T>>(tokens: &[Token], pick: F) -> Option<T>
    where
        T: std::iter::Sum<T>,
    {
        let picked: Vec<T> = tokens.iter().filter_map(|token| pick(token)).collect();
        (!picked.is_empty()).then(|| picked.into_iter().sum())
    }
}

fn index(tokens: &[Token]) -> BTreeMap<Token, Vec<usize>> {
    let mut index: BTreeMap<Token, Vec<usize>> = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        index.entry(token.clone()).or_default().push(at);
    }
    index
}

fn main() {
    let rounds: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100);
    let text = "The quick 12 brown fox + jumps 7 over the lazy - dog 1999 ".repeat(20);
    let mut counter = Counter { seen: HashMap::from([("qu", 0), ("ox", 0)]), total: 0 };
    let mut longest = 0;
    for _ in 0..rounds {
        let mut tokens = tokenize(&text);
        tokens.sort_by(|a, b| a.to_string().len().cmp(&b.to_string().len()).then_with(|| a.cmp(b)));
        longest = longest.max(index(&tokens).values().map(Vec::len).max().unwrap_or(0));
        for token in &tokens {
            counter.visit(token);
        }
        sums::fold(&tokens, |token| if let Token::Number(n) = token { Some(*n) } else { None });
    }
    println!("{} {} {}", counter.total, counter.seen["ox"], longest);
}
