//! The disk of this process.

use std::sync::Arc;

use crate::system::env::Env;
use crate::system::fault::FaultInjector;
use crate::system::reach;
use changes::disk::Faults;
pub(crate) use changes::disk::*;

/// The real file system without injected faults.
pub(crate) static SYSTEM: System = System::new(reach::refuse_silent);

/// Returns the disk with the faults that a test requested.
pub(crate) fn with_faults_of(env: &Env) -> System {
    let faults = Arc::clone(&env.fault);
    SYSTEM.with_faults(faults)
}

impl Faults for FaultInjector {
    fn point(&self) -> std::io::Result<()> {
        FaultInjector::point(self)
    }
}
