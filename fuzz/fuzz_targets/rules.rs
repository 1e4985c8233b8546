//! The target `rules`: bytes of the fuzzer to `bodies::rules`, which panics where a promise is broken.
#![no_main]

#[path = "../bodies.rs"]
#[allow(dead_code, reason = "each target uses one body")]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::rules(data));
