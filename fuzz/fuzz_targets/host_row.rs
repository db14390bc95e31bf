#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rejoin::fuzzing::host_row(data));
