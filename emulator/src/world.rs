//! What all CTAs of a run share.

use crate::checks::Report;
use crate::launch::{Launch, Options};
use crate::layout::SPACE_FIRST;
use crate::memory::{Allocations, Heap};
use crate::module::Module;
use crate::observer::Observer;
use crate::special::{Special, table};
use crate::stop::{Stop, Thread};
use crate::uninterpreted::LogEntry;
use ahash::AHashMap;

/// What all CTAs of a run share.
pub struct World<'m> {
    /// The module.
    pub module: &'m Module,
    /// How it runs.
    pub options: Options,
    /// Extent of the grid.
    pub grid: [u32; 3],
    /// Extent of a CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: u64,
    /// Global memory.
    pub global: Allocations,
    /// What `malloc` gives out.
    pub heap: Heap,
    /// Constants, from address 0 of their space.
    pub constants: Vec<u8>,
    /// Parameters of the kernel, from address 0 of their space.
    pub params: Vec<u8>,
    /// Thread-instructions so far.
    pub steps: u64,
    /// The log.
    pub log: Vec<LogEntry>,
    /// Reports.
    pub reports: Vec<Report>,
    /// Reports beyond the limit.
    pub reports_dropped: u64,
    /// How often a thread asked for a hash.
    pub occurrences: AHashMap<(Thread, u64), u64>,
    /// What special registers say, by row.
    pub specials: Vec<Special>,
    /// Who looks on.
    pub observer: Option<&'m mut dyn Observer>,
    /// How the first thread ended that trapped or failed an assertion; the assertion, where both happened.
    pub failure: Option<Stop>,
    charged: u64,
}

impl<'m> World<'m> {
    /// A world for `launch`, without memory for its arguments and variables.
    #[must_use]
    pub fn new(
        module: &'m Module,
        launch: &Launch,
        options: &Options,
        observer: Option<&'m mut dyn Observer>,
    ) -> Self {
        let layout = &module.layout;
        Self {
            module,
            options: *options,
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            global: Allocations::default(),
            heap: Heap::new(layout.map),
            constants: vec![0; layout.const_end as usize],
            params: vec![0; SPACE_FIRST as usize],
            steps: 0,
            log: Vec::new(),
            reports: Vec::new(),
            reports_dropped: 0,
            occurrences: AHashMap::new(),
            specials: table(),
            observer,
            failure: None,
            charged: 0,
        }
    }

    /// Notes that a thread trapped or failed an assertion. The others go on.
    pub fn fail(&mut self, stop: Stop) {
        let is_worse = matches!((&self.failure, &stop), (Some(Stop::Trap { .. }), Stop::Assertion { .. }));
        if is_worse || self.failure.is_none() {
            self.failure = Some(stop);
        }
    }

    /// Counts memory that the run is about to take.
    ///
    /// # Errors
    /// When that is more than the limit.
    pub fn charge(&mut self, bytes: u64) -> Result<(), Stop> {
        self.charged = self.charged.saturating_add(bytes);
        if self.charged > self.options.limits.memory_bytes { Err(Stop::MemoryLimit) } else { Ok(()) }
    }

    /// Counts memory that the run gives back.
    pub fn release(&mut self, bytes: u64) {
        self.charged = self.charged.saturating_sub(bytes);
    }

    /// Threads of a CTA.
    #[must_use]
    pub fn threads_of_cta(&self) -> u32 {
        self.block.iter().product()
    }

    /// Thread number `number` of CTA `ctaid`.
    #[must_use]
    pub fn thread(&self, ctaid: [u32; 3], number: u32) -> Thread {
        let [x, y, _] = self.block;
        Thread { ctaid, tid: [number % x, number / x % y, number / x / y] }
    }
}
