/* Preloaded: to the process there is this machine and no other. A call that would leave it fails as without a network,
   and a line of TRIED says what was tried. */

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void note(const char *call, const char *place) {
    char line[512];
    const int length = snprintf(line, sizeof line, "%s %.400s\n", call, place);
    const int file = open(TRIED, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    /* What is not written down must not pass for silence. */
    if (file < 0 || write(file, line, (size_t)length) != length) abort();
    close(file);
}

/* NULL: the socket is connected, and was looked at then. AF_UNSPEC takes a connection back. */
static int is_here(const struct sockaddr *to) {
    if (to == NULL || to->sa_family == AF_UNIX || to->sa_family == AF_UNSPEC) return 1;
    if (to->sa_family == AF_INET) return ntohl(((const struct sockaddr_in *)to)->sin_addr.s_addr) >> 24 == 127;
    if (to->sa_family != AF_INET6) return 0;
    const struct in6_addr *address = &((const struct sockaddr_in6 *)to)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(address) || (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

static int may_pass(const char *call, const struct sockaddr *to) {
    if (is_here(to)) return 1;
    char text[INET6_ADDRSTRLEN] = "an address of another kind";
    const void *address = &((const struct sockaddr_in *)to)->sin_addr;
    if (to->sa_family == AF_INET6) address = &((const struct sockaddr_in6 *)to)->sin6_addr;
    if (to->sa_family == AF_INET || to->sa_family == AF_INET6) inet_ntop(to->sa_family, address, text, sizeof text);
    note(call, text);
    errno = ENETUNREACH;
    return 0;
}

int connect(int socket, const struct sockaddr *to, socklen_t size) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    return may_pass("connect", to) ? real(socket, to, size) : -1;
}

ssize_t sendto(int socket, const void *data, size_t bytes, int flags, const struct sockaddr *to, socklen_t size) {
    ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");
    return may_pass("sendto", to) ? real(socket, data, bytes, flags, to, size) : -1;
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    ssize_t (*real)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
    return may_pass("sendmsg", message->msg_name) ? real(socket, message, flags) : -1;
}

int sendmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags) {
    int (*real)(int, struct mmsghdr *, unsigned, int) = dlsym(RTLD_NEXT, "sendmmsg");
    for (unsigned i = 0; i < count; i++) {
        if (!may_pass("sendmmsg", messages[i].msg_hdr.msg_name)) return -1;
    }
    return real(socket, messages, count, flags);
}

/* Of what is no name nobody is asked: what it stands for is looked at by connect. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        dlsym(RTLD_NEXT, "getaddrinfo");
    unsigned char address[sizeof(struct in6_addr)];
    const int is_address =
        name == NULL || inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
    const int is_numeric = hints != NULL && (hints->ai_flags & AI_NUMERICHOST);
    if (is_address || is_numeric || strcmp(name, "localhost") == 0) return real(name, service, hints, found);
    note("getaddrinfo", name);
    return EAI_AGAIN;
}
