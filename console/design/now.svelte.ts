/** The time for relative times, once a second for the whole page. */
class Now {
  current = $state(Date.now());

  /** Begins; the returned function ends it. */
  start(): () => void {
    const timer = setInterval(() => {
      if (!document.hidden) this.current = Date.now();
    }, 1000);
    return () => clearInterval(timer);
  }
}

export const now = new Now();
