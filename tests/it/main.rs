//! The program, end to end: each test has a separate world and runs the real binary in it.
//!
//! `SNAPSHOTS=overwrite cargo test --test it` rewrites the snapshots; read the diff before committing.
#![expect(clippy::arithmetic_side_effects, reason = "tests reckon with times of their own")]
#![expect(clippy::disallowed_methods, reason = "tests write the files that they read")]

mod amp;
#[cfg(feature = "sqlite")]
mod antigravity;
mod contract;
mod cursor;
#[cfg(feature = "sqlite")]
mod devin;
mod fixtures;
mod generated;
mod kiro;
mod ordinary;
mod picture;
mod roo;
mod sample;
mod sample_home;
mod worktree;
mod world;

mod absent;
mod agent_rules;
mod agents;
mod aider;
mod archive;
mod arrival;
mod auggie;
mod backfill;
mod bad_input;
mod branches;
mod broken_chain;
mod candidates;
mod cannot_open;
mod change_screens;
mod choosing;
mod claude_desktop;
mod cleanup;
mod cleanup_archive;
mod cline;
mod cline_tasks;
mod codex;
mod commandcode;
mod complaints;
mod completing;
mod config;
mod r#continue;
mod copilot;
mod costs;
mod cron;
#[cfg(feature = "sqlite")]
mod crush;
#[cfg(feature = "sqlite")]
mod databases;
#[cfg(target_os = "linux")]
mod dead_mount;
mod debris;
mod delete;
mod doctor;
mod drift;
mod droid;
mod empty;
mod examples;
mod export;
mod facts;
mod faults;
mod field;
mod filters;
mod fix;
mod fleet;
mod foreign_links;
mod foreign_paths;
mod forged_journal;
mod formats;
mod fuzz;
mod gemini;
#[cfg(feature = "sqlite")]
mod goose;
mod gptme;
mod grok;
mod growth;
#[cfg(feature = "sqlite")]
mod hermes;
mod hook_amplifier;
mod hook_claude;
mod hook_install;
mod hostile_hosts;
mod hostile_text;
mod hosts;
mod jido;
#[cfg(feature = "sqlite")]
mod kept;
#[cfg(feature = "sqlite")]
mod kept_in_agents;
#[cfg(feature = "sqlite")]
mod kilo;
mod kimi;
mod kimicode;
mod launches;
mod letta;
mod letter;
mod linked_dirs;
mod links;
mod list;
mod listing;
mod long_lines;
#[cfg(target_os = "linux")]
mod mac_disk;
mod machines;
mod manual;
mod marks;
mod move_agents;
mod move_corpora;
mod move_faults;
mod nanocoder;
mod omp;
#[cfg(feature = "sqlite")]
mod one_place;
mod one_process;
mod only_read;
mod opencode;
mod openhands;
mod other_files;
mod other_owner;
mod outputs;
mod package;
mod pager;
mod parked;
mod pi;
mod picker;
mod picker_keys;
mod pictures;
mod pipes;
mod platforms;
mod power;
mod prime;
mod properties;
mod qoder;
mod quiet;
mod qwen;
mod read_only;
mod recall;
mod regression;
mod remedies;
mod rename;
mod restored_elsewhere;
mod resume;
mod rewind;
mod rooms;
mod running;
mod save;
mod search;
mod security;
mod selectors;
mod shapes;
mod show;
mod shown;
mod skill;
mod slim;
#[cfg(target_os = "linux")]
mod sshd;
mod stats;
mod survival;
mod sync;
mod tags;
mod terminal;
mod undo;
mod undo_together;
mod unknown_dir;
mod usage;
mod vibe;
mod with;
mod wording;
