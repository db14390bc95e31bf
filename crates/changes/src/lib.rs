#![doc = include_str!("../README.md")]

pub mod bounds;
pub mod disk;
pub mod error;
pub mod history;
pub mod journal;
pub mod links;
pub mod lock;
pub mod outcome;
pub mod path_text;
pub mod plan;
pub mod private_dir;
pub mod run;
pub mod stamp;
pub mod state_dir;
mod step;
#[cfg(test)]
mod tests;
pub mod trash;
pub mod tree;
pub mod undo;

pub use bounds::is_own_temporary;
