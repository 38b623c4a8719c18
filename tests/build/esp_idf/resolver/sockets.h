// Of the sockets the resolver needs addresses only.
#include <arpa/inet.h>
