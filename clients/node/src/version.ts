/** The version, which is the service's. */
export const VERSION = "0.3.0";
