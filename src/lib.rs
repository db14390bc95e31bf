//! Finds, repairs, cleans up and resumes coding-agent sessions.

pub mod format;
