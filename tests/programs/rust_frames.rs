// SPDX-License-Identifier: MIT
// PFLAGS: --edition 2021
// rust_frames MS: an async program, without a runtime, that spends its time in and below a function
// with a frame of 96 kB, which it calls in two places.
use std::arch::asm;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::{Duration, Instant};

fn noop(_: *const ()) {}
fn clone(_: *const ()) -> RawWaker { RawWaker::new(std::ptr::null(), &VTABLE) }
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, noop, noop, noop);

struct Yield(bool);
impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 { Poll::Ready(()) } else { self.0 = true; Poll::Pending }
    }
}

#[inline(never)]
fn mix(seed: u64, table: &mut [u64; 12000]) -> u64 {
    let mut x = seed | 1;
    for _ in 0..20000 {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        let at = (x % 12000) as usize;
        table[at] = table[at].wrapping_add(x);
    }
    x
}

#[inline(never)]
fn crunch(seed: u64) -> u64 {
    let mut table = [seed; 12000]; // 96 kB on the stack
    unsafe { asm!("/* {0} */", in(reg) table.as_mut_ptr()) }; // whoever reads it may write to it
    let x = mix(seed, &mut table);
    x ^ table[(x % 12000) as usize]
}

async fn leaf(seed: u64) -> u64 { Yield(false).await; crunch(seed) }
async fn middle(seed: u64) -> u64 { let a = leaf(seed).await; Yield(false).await; leaf(a).await }

fn main() {
    let ms: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1000);
    let end = Instant::now() + Duration::from_millis(ms);
    let waker = unsafe { Waker::from_raw(clone(std::ptr::null())) };
    let mut context = Context::from_waker(&waker);
    let mut sum = 0u64;
    while Instant::now() < end {
        let mut future = Box::pin(middle(sum));
        loop { if let Poll::Ready(v) = future.as_mut().poll(&mut context) { sum ^= v; break; } }
    }
    println!("{sum}");
}
