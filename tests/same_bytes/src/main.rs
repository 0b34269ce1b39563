//! Prints the hashes; on a bare machine, whose emulator prints for it, that of the first GPU, since it is slow.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(not(target_os = "none"))]
fn main() {
    for gpu in 0..2 {
        // No deployments would have the same bits everywhere, too. Of most models, 15 of 38 or 42 of 76 divisions are
        // modelled: heads and experts divide by few numbers.
        let fewest = rooflut_same_bytes::fewest(gpu);
        assert!(fewest.is_some_and(|(count, _)| count >= 12), "GPU {gpu}: {fewest:?}");
        println!("{:016x}", rooflut_same_bytes::hash(gpu));
    }
}

#[cfg(target_os = "none")]
mod bare {
    use core::mem::MaybeUninit;
    use core::ptr::addr_of_mut;

    use cortex_m_rt::entry;
    use cortex_m_semihosting::{debug, hprintln};
    use embedded_alloc::LlffHeap;
    use panic_semihosting as _;

    #[global_allocator]
    static HEAP: LlffHeap = LlffHeap::empty();
    const HEAP_BYTES: usize = 2 << 20;

    #[entry]
    fn main() -> ! {
        static mut MEMORY: [MaybeUninit<u8>; HEAP_BYTES] = [MaybeUninit::uninit(); HEAP_BYTES];
        // SAFETY: this is called once, and nothing else uses the memory.
        unsafe { HEAP.init(addr_of_mut!(*MEMORY) as usize, HEAP_BYTES) };
        hprintln!("{:016x}", rooflut_same_bytes::hash(0));
        debug::exit(debug::EXIT_SUCCESS);
        loop {}
    }
}
